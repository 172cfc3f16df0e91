import { expect, test } from "vitest";
import { knownThreadId } from "../../shared/ids.ts";
import { OWNER } from "../../shared/principal.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { openStore } from "../store/store.ts";
import { Voice, type VoiceOptions } from "./voice.ts";

const threadId = knownThreadId.parse("main");
const channelId = aDiscordId("7");

function makeVoice() {
  const store = openStore(":memory:");
  store.threads.insert({
    ...{ threadId, type: "agent", dir: ".", path: "/r", command: "", title: "t", createdBy: OWNER },
    ...{ createdAt: 5, cols: 80, rows: 24, marker: "M=1" },
  });
  store.spoken.setMain("main", threadId);
  const row = { id: channelId, mode: "main", agent: null, name: "ops" };
  const channels = { list: () => [row], find: () => row };
  const noted: { messageId: string; callId: string }[] = [];
  const world = { store, noted, nowMs: 1_000, turnId: "t1" };
  const voice = new Voice({
    store: { spoken: store.spoken, handles: store.handles, people: store.people, channels },
    agents: {
      foldNow: async () => ({ turn: { turnId: world.turnId } }),
      note: async (_: string, event: { messageId: string; callId: string }) => void noted.push(event),
    },
    people: { may: () => true },
    now: () => world.nowMs,
  } as unknown as VoiceOptions);
  let calls = 0;
  const say = (to: string, content: string) => {
    world.nowMs++;
    return voice.say(threadId, { to, content, isSilent: false, callId: `call ${++calls}` });
  };
  const hear = (personId: string) =>
    store.spoken.hear({ threadId, channelId, personId, inputId: `i${++calls}`, heardAt: ++world.nowMs });
  return Object.assign(world, { voice, say, hear });
}

test("the same words to the same address are queued once, and count as the answer to what was read since", async () => {
  const { voice, store, say, noted } = makeVoice();
  const [to = ""] = voice.addressesOf(threadId);
  const first = await say(to, "Yes.");
  expect(await say(to, "Yes.")).toBe(first);
  expect(store.spoken.listOpen()).toHaveLength(1);
  expect(noted.map(({ messageId, callId }) => [messageId, callId])).toEqual([
    [`m${first}`, "call 1"],
    [`m${first}`, "call 2"],
  ]);
});

test("a model that writes in a loop is refused after five messages to one address, until it hears from there", async () => {
  const { voice, say, hear } = makeVoice();
  hear("11");
  const [, person = ""] = voice.addressesOf(threadId);
  for (let n = 0; n < 5; n++) await say(person, `loop ${n}`);
  const refused = { code: "rate_limited", message: expect.stringContaining("5 times without an input") };
  for (let n = 0; n < 3; n++) await expect(say(person, `more ${n}`)).rejects.toMatchObject(refused);
  hear("12");
  await expect(say(person, "still more")).rejects.toMatchObject(refused);
  hear("11");
  expect(Number(await say(person, "again"))).toBeGreaterThan(5);
});

test("and after twenty in a turn, wherever they go; the next turn begins anew", async () => {
  const world = makeVoice();
  for (const id of ["11", "12", "13", "14", "15"]) world.hear(id);
  const people = world.voice.addressesOf(threadId).slice(1);
  expect(people).toHaveLength(5);
  for (let n = 0; n < 20; n++) await world.say(people[n % 5] ?? "", `loop ${n}`);
  await expect(world.say(people[0] ?? "", "one more")).rejects.toMatchObject({
    code: "rate_limited",
    message: "You have said 20 things in this turn; end it.",
  });
  world.turnId = "t2";
  expect(Number(await world.say(people[0] ?? "", "one more"))).toBeGreaterThan(20);
});
