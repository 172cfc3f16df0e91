/** Messages of pages that a person deletes: each comes back, or stays away, whatever else waits to be sent or edited. */
import { expect, test } from "vitest";
import { ask, call, done, end, numbered, say, start } from "../content/transcript/testing/events.ts";
import { Side } from "./testing/side.ts";

const read = (id: string, name: string) => call(id, "Read", `Read ${name}`, { file_path: name });

test("what is deleted in mid-turn stands above what comes next, though no edit may be made yet", async () => {
  const side = new Side();
  await side.tell(numbered([start, say("First."), read("c1", "one")]));
  await side.tell(numbered([done("c1")], 4));
  expect(side.texts).toEqual([expect.stringContaining("one")]);
  // It has just been edited: the next edit must wait, a new message need not.
  side.remove("First.");
  await side.tell(numbered([read("c2", "two"), done("c2"), say("Worked."), end], 5));
  expect(side.texts).toEqual([
    expect.stringMatching(/First\..*one.*two/s),
    expect.stringContaining("Worked."),
  ]);
  expect(side.missed).toEqual([]);
  await side.delivery.close();
});

test("what stays away because others stand below it is not looked for again by the next relays", async () => {
  const side = new Side();
  const events = numbered([start, read("c1", "one"), ask("q1", "c1"), read("c2", "two")]);
  await side.tell(events);
  const [one, , two] = side.texts;
  expect([one, two]).toEqual([expect.stringContaining("one"), expect.stringContaining("two")]);
  side.remove("Read `one`", { isTold: false });
  await side.restart();
  await side.restart();
  // Its place stays empty also when it would show something else.
  const more = numbered([done("c1"), done("c2"), end], 5);
  await side.tell(more);
  await side.restart();
  expect(side.texts.join("\n")).not.toContain("Read `one`");
  expect(side.missed).toEqual([]);
  await side.delivery.close();
});

/** Asks part the steps of a turn into messages of their own; each of them may still change. */
const turn = numbered([
  start,
  ...Array.from({ length: 6 }, (_, i) => [
    read(`c${i}`, `file${i}`),
    ask(`q${i}`, `c${i}`, { toolName: "Read", title: `Read file${i}` }),
    {
      type: "permission_response" as const,
      requestId: `q${i}`,
      outcome: "cancelled" as const,
      reason: "turn_ended" as const,
    },
  ]).flat(),
]);

test.each(Array.from({ length: 24 }, (_, kill) => kill))(
  "no message that is gone is edited, also if the next relay dies %i requests after its start",
  async (kill) => {
    const side = new Side({ waitScale: 0 });
    await side.tell(turn);
    const ids = [...side.messages.keys()];
    expect(ids.length).toBeGreaterThan(6);
    await side.delivery.close();
    for (const id of [...ids.slice(1, 3), ...ids.slice(-2)]) side.removeId(id, { isTold: false });
    side.killIn = kill;
    const more = numbered([done("c1"), done("c4"), done("c5"), say("On.")], turn.length + 1);
    await side.restart();
    await side.tell(more);
    for (let i = 0; i < 3; i++) await side.restart();
    expect(side.missed).toEqual([]);
    await side.delivery.close();
  },
);
