/** Messages that wait for Discord: a look costs the same however many they are, and none is lost. */
import { expect, test } from "vitest";
import type { ThreadEvent } from "../../../shared/agent/events.ts";
import { findFastGrowth } from "../../../test/support/growth.ts";
import { cpuMsOf } from "../../../test/support/measure.ts";
import { planPages, type SentMessage, shownBy } from "../../delivery/plan.ts";
import { TranscriptContent } from "./content.ts";
import { Story } from "./story.ts";
import {
  ask,
  call,
  done,
  end,
  feedLong,
  numbered,
  restart,
  restartLong,
  say,
  start,
} from "./testing/events.ts";

/** Words, calls and remarks of one turn after the other: three messages each. */
const turnOf = (n: number) => [
  start,
  call(`c${n}`, "Bash", `Bash step ${n}`, {}),
  done(`c${n}`),
  say(`${n} `.repeat(200)),
  call(`d${n}`, "Bash", "Bash ls", {}),
  done(`d${n}`),
  say(`Done ${n}.`),
  end,
];
const turns = (count: number) => Array.from({ length: count }, (_, n) => turnOf(n)).flat();

async function contentOf(count: number): Promise<TranscriptContent> {
  return fed(numbered(turns(count)));
}

async function fed(events: readonly ThreadEvent[]): Promise<TranscriptContent> {
  const content = new TranscriptContent({ starter: undefined });
  await feedLong(content, events);
  return content;
}

/**
 * Delivers as the relay does: one message a look.
 * @param count the number of messages after which it stops
 * @returns the keys of the messages in Discord, in their order
 */
function deliver(
  content: TranscriptContent,
  sent = new Map<string, SentMessage>(),
  count = Number.POSITIVE_INFINITY,
): string[] {
  const find = (key: string) => sent.get(key);
  for (;;) {
    const pages = content.pages();
    const { actions, delivered } = planPages({ pages, find, isTooOld: () => false });
    content.confirm(delivered);
    const [action] = actions;
    if (!action && !(content.isCut && delivered.length > 0)) return [...sent.keys()];
    if (!action) continue;
    if (sent.size >= count) return [...sent.keys()];
    if (action.kind !== "send" && action.kind !== "edit") throw new Error(action.kind);
    const { page } = action;
    content.begin(page.key);
    sent.set(page.key, { id: String(sent.size + 1), shows: shownBy(page), isGone: false });
  }
}

test("all of a long backlog is delivered in its order, once, and no look lists all of it", async () => {
  const content = await contentOf(240);
  expect(content.pages().length).toBeLessThan(30);
  const keys = deliver(content);
  const places = keys.map((key) => Number(/\d+/.exec(key)?.[0]));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(new Set(keys).size).toBe(960);
  expect(content.pages()).toEqual([]);
});

test("an ask that stays open holds up nothing behind it, and is not lost in it", async () => {
  const events = numbered([start, call("a", "Bash", "Bash rm", {}), ask("r", "a"), ...turns(100)]);
  const content = new TranscriptContent({ starter: undefined });
  await feedLong(content, events);
  const sent = new Map<string, SentMessage>();
  expect(deliver(content, sent)).toHaveLength(402);
  expect(content.pages().map(({ key }) => key)).toContain("a3");
  // The next process hears all of it again, since the ask is still to be told.
  const next = restart(content, events);
  expect(deliver(next, sent)).toHaveLength(402);
});

test("to look and deliver takes as long for each message of 40, 400 and 960", async () => {
  const counts = [10, 100, 240];
  const contents = new Map<number, TranscriptContent[]>();
  // Each try takes one of its own.
  for (const count of counts) contents.set(count, await Promise.all([0, 1].map(() => contentOf(count))));
  const growth = findFastGrowth(
    { name: "a backlog", make: (count: number) => ({ length: count }) },
    ({ length }) => {
      const content = contents.get(length)?.shift();
      return content && deliver(content);
    },
    counts,
  );
  expect(growth).toBeUndefined();
});

test("of more than Discord takes in time, the middle is left out and counted, but no ask or failure", async () => {
  const broken = { type: "failure", code: "cut_off", message: "no credit" } as const;
  const asked = [start, call("a", "Bash", "Bash rm", {}), ask("r", "a"), broken];
  const events = numbered([...turns(100), ...asked, ...turns(900)]);
  const content = new TranscriptContent({ starter: undefined });
  await feedLong(content, events);
  const sent = new Map<string, SentMessage>();
  const keys = deliver(content, sent);
  const shown = [...sent.values()].map(({ shows = "" }) => shows);
  expect(keys.length).toBeLessThan(260);
  const [note = "", ...more] = shown.filter((text) => text.includes("left out"));
  expect(more).toEqual([]);
  // The messages shown and those left out are all messages: four a turn, the ask, its call and the failure.
  const leftOut = Number(/(\d+) messages are left out/.exec(note)?.[1]);
  expect(leftOut + keys.length - 1).toBe(4 * 1_000 + 3);
  expect(shown.join()).toContain("no credit");
  expect(content.pages().map(({ key }) => key)).toEqual(["a803"]);
  expect(shown.at(-1)).toContain("Done 899.");
});

test("what was left out stays so after a restart at any message, and is told once", async () => {
  const events = numbered(turns(600));
  const content = new TranscriptContent({ starter: undefined });
  await feedLong(content, events);
  const sent = new Map<string, SentMessage>();
  const whole = deliver(await fed(events));
  for (let count = 0; count < whole.length; count += 11) {
    const each = await fed(events);
    const stands = new Map<string, SentMessage>();
    deliver(each, stands, count);
    // The delivery saves the mark before it sends messages that the saved mark does not know.
    const next = await restartLong(each, events);
    expect(deliver(next, stands), `after ${count}`).toEqual(whole);
  }
  expect(deliver(content, sent)).toEqual(whole);
});

test("what comes on top of what is left out is counted with it, unless it is told already", async () => {
  const events = numbered(turns(1_200));
  const content = new TranscriptContent({ starter: undefined });
  const cut = [0, 3_200, 6_400, 9_600];
  for (const [i, from] of cut.slice(0, -1).entries()) await feedLong(content, events.slice(from, cut[i + 1]));
  const notes = () => content.mark()?.skipped.length;
  expect(notes()).toBe(1);
  const sent = new Map<string, SentMessage>();
  deliver(content, sent, 40);
  const later = numbered(turns(600), events.length + 1);
  await feedLong(content, later);
  deliver(content, sent);
  const shown = [...sent.values()].map(({ shows = "" }) => /(\d+) messages are left out/.exec(shows)?.[1]);
  const left = shown.filter((count) => count !== undefined).map(Number);
  expect(left).toHaveLength(2);
  expect(left.reduce((sum, count) => sum + count, 0) + sent.size - 2).toBe(4 * 1_800);
});

test("a look at a turn costs the same however many calls it has, open or not", async () => {
  const calls = (count: number) =>
    Array.from({ length: count }, (_, n) => call(`c${n}`, "Bash", "Bash ls", {}));
  const contents = new Map<number, TranscriptContent>();
  const counts = [1_000, 40_000];
  for (const count of counts) {
    const content = new TranscriptContent({ starter: undefined });
    await feedLong(content, numbered([start, ...calls(count), done("c0"), say("Going on."), ...calls(1)]));
    contents.set(count, content);
    const text = content.pages()[0]?.text ?? "";
    const shown = text.split("\n").filter((line) => line.startsWith("◌")).length;
    expect(text).toMatch(`-# … ${count + 1 - shown} earlier steps\n◌ Bash`);
    expect(text).toContain("Going on.");
  }
  // A look at all of them would take forty times as long.
  const looksMs = async (count: number) => {
    const tries: number[] = [];
    for (let i = 0; i < 3; i++)
      tries.push(await cpuMsOf(() => Array.from({ length: 20 }, () => contents.get(count)?.pages())));
    return Math.min(...tries);
  };
  const [few, many] = [await looksMs(1_000), await looksMs(40_000)];
  expect(many).toBeLessThan(5 * few + 15);
});

test("an answer that may be asked for again costs the calls that end meanwhile nothing", () => {
  const response = { type: "permission_response", outcome: "selected", optionId: "no" } as const;
  const make = (count: number) => {
    const asks = Array.from({ length: count }, (_, n) => [
      ask(`r${n}`, `c${n}`),
      { ...response, requestId: `r${n}` },
    ]);
    const ends = Array.from({ length: count }, (_, n) => done(`other${n}`));
    return numbered([start, ...asks.flat(), ...ends]);
  };
  const tell = (events: readonly ThreadEvent[]) => {
    const story = new Story();
    for (const event of events) story.add(event);
    expect(story.entries.at(-1)).toMatchObject({ kind: "ask", mayComeBack: true });
  };
  expect(findFastGrowth({ name: "answers", make }, tell, [250, 2_500, 25_000])).toBeUndefined();
});

const refusal = (requestId: string) =>
  ({ type: "permission_response", requestId, outcome: "selected", optionId: "no" }) as const;
const refused = (n: number) => [
  call(`c${n}`, "Bash", "Bash rm", {}),
  ask(`r${n}`, `c${n}`),
  refusal(`r${n}`),
  done(`c${n}`),
];

test("of asks that were answered before anybody saw them, the middle is left out and counted too", async () => {
  const many = Array.from({ length: 5_000 }, (_, n) => refused(n)).flat();
  const open = [call("open", "Bash", "Bash push", {}), ask("still", "open")];
  const content = await fed(numbered([start, ...refused(9_999), ...open, ...many]));
  const sent = new Map<string, SentMessage>();
  deliver(content, sent);
  expect(sent.size).toBeLessThan(260);
  const shown = [...sent.values()].map(({ shows = "" }) => shows);
  const note = shown.filter((text) => text.includes("left out"));
  expect(note).toHaveLength(1);
  // An ask a call, and an activity before it.
  const leftOut = Number(/(\d+) messages are left out/.exec(note[0] ?? "")?.[1]);
  expect(leftOut + sent.size - 1).toBe(2 * 5_002);
  // The one that nobody has decided stands there with what decides it.
  expect(shown.filter((text) => text.includes("Allow once"))).toHaveLength(1);
});

test("an ask that stands in Discord loses its buttons, whatever is left out behind it, also after a restart", async () => {
  const first = numbered([start, call("c", "Bash", "Bash push", {}), ask("r", "c")]);
  const behind = numbered(
    [...turns(300), refusal("r"), ...Array.from({ length: 2_000 }, (_, n) => refused(n)).flat()],
    first.length + 1,
  );
  for (const isRestarted of [false, true]) {
    let content = await fed(first);
    const sent = new Map<string, SentMessage>();
    deliver(content, sent);
    expect(sent.get("a3")?.shows).toContain("Allow once");
    if (isRestarted) content = await restartLong(content, first, [...sent.keys()]);
    await feedLong(content, behind);
    deliver(content, sent);
    expect(sent.get("a3")?.shows).not.toContain("Allow once");
    expect(sent.size).toBeLessThan(300);
  }
});

test("an ask that was left out and is asked again is shown as a new one", async () => {
  const many = Array.from({ length: 2_000 }, (_, n) => refused(n)).flat();
  const again = ask("again", "c500", { replaces: "r500" });
  const content = await fed(numbered([start, ...many]));
  const from = numbered([start, ...many]).length + 1;
  await feedLong(content, numbered([again], from));
  const sent = new Map<string, SentMessage>();
  deliver(content, sent);
  expect(sent.get(`a${from}`)?.shows).toContain("Allow once");
});

test("what comes behind twenty calls that were allowed and still run is delivered", async () => {
  const allowed = (n: number) => [
    ...[call(`l${n}`, "Bash", "Bash sleep", {}), ask(`q${n}`, `l${n}`)],
    ...[{ ...refusal(`q${n}`), optionId: "once" }],
  ];
  const many = Array.from({ length: 20 }, (_, n) => allowed(n)).flat();
  const behind = Array.from({ length: 20 }, (_, n) => [
    say(`Note ${n}. ${"x".repeat(400)}`),
    ...[call(`d${n}`, "Read", "Read a", {}), done(`d${n}`)],
  ]).flat();
  const content = await fed(numbered([start, ...many, ...behind]));
  const sent = new Map<string, SentMessage>();
  deliver(content, sent);
  expect([...sent.values()].map(({ shows = "" }) => shows).join()).toContain("Note 19.");
});
