/** Who may write in a room when: a table for each protocol, and the bounds that hold in all. */
import { expect, test } from "vitest";
import {
  NO_TURN,
  type RoomEvent,
  type RoomProtocol,
  type RoomRules,
  type RoomTurn,
} from "../../shared/rooms/protocol.ts";
import { namedIn, stepRoom, whyNoText } from "./turns.ts";

const ORDER = ["ann", "ben", "cleo"];
const rules = (protocol: RoomProtocol, more: Partial<RoomRules> = {}): RoomRules => ({
  ...{ protocol, order: ORDER, lead: protocol === "orchestrated" ? "ann" : null, maxTurns: 30 },
  ...more,
});

let said = 0;
/** `*@ben`: a person names ben. `ann`: she writes. `ann@ben`: she names him. `ann-`: she passes. `ann.`: proposes the end. */
function eventOf(word: string): RoomEvent {
  const [, who = "", what = ""] = /^(\*|[a-z]+)(.*)$/.exec(word) ?? [];
  const named = namedIn(what.replaceAll("@", " @"), ORDER, who);
  if (who === "*") return { type: "person", named };
  if (what === "-" || what === ".") return { type: "pass", by: who, ends: what === "." };
  if (what === "!") return { type: "left", by: who, after: ORDER[ORDER.indexOf(who) - 1] ?? null };
  return { type: "text", by: who, text: `words ${said++}`, named };
}

/** @returns after each word who may write, or why nobody may */
function play(of: RoomRules, words: string): string[] {
  let turn: RoomTurn = NO_TURN;
  let here = of;
  return words.split(" ").map((word) => {
    const event = eventOf(word);
    if (event.type === "left") {
      const order = here.order.filter((one) => one !== event.by);
      here = { ...here, order, lead: here.lead === event.by ? null : here.lead };
    }
    // Only who has the turn acts: the sidecar asks no other.
    if ("by" in event && event.type !== "left") expect(turn.holders, word).toContain(event.by);
    turn = stepRoom(here, turn, event);
    return turn.holders.join("+") || (turn.why ?? "");
  });
}

const TABLES: Record<RoomProtocol, [words: string, mayWrite: string[]][]> = {
  round_robin: [
    ["* ann ben cleo ann", ["ann", "ben", "cleo", "ann", "ben"]],
    // Two passes in a row skip a member, until somebody names it.
    [
      "* ann ben- cleo ann ben- cleo ann cleo",
      ["ann", "ben", "cleo", "ann", "ben", "cleo", "ann", "cleo", "ann"],
    ],
    [
      "* ann ben- cleo ann ben- cleo ann@ben ben",
      ["ann", "ben", "cleo", "ann", "ben", "cleo", "ann", "ben", "cleo"],
    ],
    ["* ann ben- cleo- ann-", ["ann", "ben", "cleo", "ann", "nobody has anything to say"]],
    // The next round goes on where the last one ended, and who has the turn keeps it when a person writes.
    [
      "* ann- ben- cleo- * ann * ben",
      ["ann", "ben", "cleo", "nobody has anything to say", "ann", "ben", "ben", "cleo"],
    ],
    ["* ann ben. cleo-", ["ann", "ben", "cleo", "@ben proposed the end, and nobody has more to say"]],
    ["* ann ben. cleo ann ben", ["ann", "ben", "cleo", "ann", "ben", "cleo"]],
    ["* ann ben! cleo ann", ["ann", "ben", "cleo", "ann", "cleo"]],
    ["* ann! ben!", ["ann", "ben", "too few members are left"]],
  ],
  on_demand: [
    // One write a member until another one has written.
    ["* ben", ["ann+ben+cleo", "ann+cleo"]],
    ["* ben cleo ben", ["ann+ben+cleo", "ann+cleo", "ann+ben", "ann+cleo"]],
    ["* ann ben- cleo-", ["ann+ben+cleo", "ben+cleo", "cleo", "nobody has anything to say"]],
    ["* ann ben- cleo ben", ["ann+ben+cleo", "ben+cleo", "cleo", "ann+ben", "ann+cleo"]],
    ["* ann ben- * ann", ["ann+ben+cleo", "ben+cleo", "cleo", "ann+ben+cleo", "ben+cleo"]],
    ["* ann ben!", ["ann+ben+cleo", "ben+cleo", "cleo"]],
  ],
  reactive: [
    ["*", ["nobody was named"]],
    ["*@ben@ann ben ann", ["ben", "ann", "the last text names nobody"]],
    // The last text that names somebody counts.
    ["*@ben@ann ben@cleo cleo", ["ben", "cleo", "the last text names nobody"]],
    ["*@ben ben@ann@cleo ann- cleo", ["ben", "ann", "cleo", "the last text names nobody"]],
    ["*@ben *@cleo ben cleo", ["ben", "ben", "cleo", "the last text names nobody"]],
    ["*@ben@cleo ben!", ["ben", "cleo"]],
  ],
  orchestrated: [
    ["* ann@ben ben ann", ["ann", "ben", "ann", "the lead named nobody"]],
    ["* ann@ben@cleo ben cleo- ann@ben", ["ann", "ben", "cleo", "ann", "ben"]],
    // Others' names are no delegation.
    ["* ann@ben ben@cleo ann-", ["ann", "ben", "ann", "the lead has nothing more to say"]],
    ["* ann@ben ben! ann", ["ann", "ben", "ann", "the lead named nobody"]],
    ["* ann@ben ann! ben", ["ann", "ben", "ben", "the room has no lead"]],
  ],
};

for (const [protocol, rows] of Object.entries(TABLES) as [RoomProtocol, (typeof TABLES)[RoomProtocol]][])
  test.each(rows)(`${protocol}: %s`, (words, mayWrite) => {
    expect(play(rules(protocol), words)).toEqual(mayWrite);
  });

test("in round_robin nobody is more than one turn ahead", () => {
  let turn = stepRoom(rules("round_robin", { maxTurns: 1_000 }), NO_TURN, eventOf("*"));
  const counts: Record<string, number> = { ann: 0, ben: 0, cleo: 0 };
  for (let i = 0; i < 100; i++) {
    const by = turn.holders[0] ?? "";
    counts[by] = (counts[by] ?? 0) + 1;
    turn = stepRoom(rules("round_robin", { maxTurns: 1_000 }), turn, eventOf(by));
    expect(Math.max(...Object.values(counts)) - Math.min(...Object.values(counts))).toBeLessThanOrEqual(1);
  }
});

test("a lead does not name the same one twice in a row, unless there is nobody else", () => {
  let turn = stepRoom(rules("orchestrated"), NO_TURN, eventOf("*"));
  for (const word of ["ann@ben", "ben"]) turn = stepRoom(rules("orchestrated"), turn, eventOf(word));
  const again = { by: "ann", named: ["ben"] };
  expect(whyNoText(rules("orchestrated"), turn, again)).toBe(
    "@ben had the turn last: name somebody else first.",
  );
  expect(whyNoText(rules("orchestrated"), turn, { by: "ann", named: ["cleo", "ben"] })).toBeUndefined();
  expect(whyNoText(rules("orchestrated", { order: ["ann", "ben"] }), turn, again)).toBeUndefined();
});

test("the bounds: turns since a person wrote, two equal or empty texts in a row", () => {
  const few = rules("round_robin", { maxTurns: 2 });
  expect(play(few, "* ann ben * cleo")).toEqual([
    ...["ann", "ben", "2 turns without a person are the most", "cleo", "ann"],
  ]);
  const text = (by: string, words: string): RoomEvent => ({ type: "text", by, text: words, named: [] });
  for (const [first, second, why] of [
    ["Thank you!", "thank you 🙂", "two equal texts came in a row"],
    ["👍", "...", "two empty texts came in a row"],
  ] as const) {
    let turn = stepRoom(rules("round_robin"), NO_TURN, eventOf("*"));
    turn = stepRoom(rules("round_robin"), turn, text("ann", first));
    expect(turn.holders).toEqual(["ben"]);
    turn = stepRoom(rules("round_robin"), turn, text("ben", second));
    expect([turn.holders, turn.why]).toEqual([[], why]);
  }
});

test("names are found where they stand for themselves", () => {
  const names = ["ann", "ben", "code-review"];
  expect(namedIn("@ben, @Code-Review. and @ben again", names)).toEqual(["ben", "code-review"]);
  expect(namedIn("me@ben.org, @benny, @ann-, `@ann`", names)).toEqual(["ann"]);
  expect(namedIn("@ann: I agree", names, "ann")).toEqual([]);
});
