import fc from "fast-check";
import { expect, test } from "vitest";
import type { EventBody, ThreadEvent } from "../../../shared/agent/events.ts";
import { TranscriptContent, type TranscriptMark } from "./content.ts";
import {
  ask,
  call,
  deliver,
  done,
  feedRest,
  numbered,
  restart,
  type Shown,
  STARTER,
  say,
  start,
} from "./testing/events.ts";

const bodies = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("say"),
      id: fc.nat(1),
      text: fc.constantFrom("short", "long ".repeat(500), "a\nb\nc\nd\ne"),
    }),
    fc.record({ kind: fc.constant("call"), id: fc.nat(5) }),
    fc.record({ kind: fc.constant("done"), id: fc.nat(5) }),
    fc.record({ kind: fc.constant("ask"), id: fc.nat(5) }),
    fc.record({ kind: fc.constant("decide"), id: fc.nat(5) }),
    fc.record({ kind: fc.constant("again"), id: fc.nat(5) }),
    fc.record({ kind: fc.constantFrom("start", "end", "cut", "message", "fail", "warn") }),
  ),
  { minLength: 1, maxLength: 60 },
);

const allow = (requestId: string): EventBody<"permission_response"> => ({
  type: "permission_response",
  requestId,
  outcome: "selected",
  optionId: "once",
});

function toEvents(steps: readonly { kind: string; id?: number; text?: string }[]): ThreadEvent[] {
  let turn = 0;
  let isOpen = false;
  const made: EventBody[] = [];
  let asks: { id: string; call: string; isDecided: boolean }[] = [];
  const begin = (cause = "message") => {
    if (isOpen) return;
    turn += 1;
    isOpen = true;
    made.push({ ...start, turnId: `t${turn}`, cause } as EventBody);
  };
  for (const { kind, id = 0, text = "" } of steps) {
    switch (kind) {
      case "say":
        if (id !== 1) begin(); // an agent may speak between its turns
        made.push(say(text));
        break;
      case "call":
        begin();
        made.push(call(`c${turn}-${id}`, "Bash", `Bash ${id}`, { command: "ls" }));
        break;
      case "done":
        made.push(done(`c${turn}-${id}`));
        asks = asks.filter(({ call, isDecided }) => !isDecided || call !== `c${turn}-${id}`);
        break;
      case "ask":
        begin();
        asks.push({ id: `q${id}-${made.length}`, call: `c${turn}-${id}`, isDecided: false });
        made.push(ask(`q${id}-${made.length}`, `c${turn}-${id}`));
        break;
      case "again": {
        const old = asks[id % asks.length];
        if (!old) break;
        if (isOpen) made.push({ type: "turn_end", turnId: `t${turn}`, stopReason: "interrupted" });
        isOpen = false;
        begin("resume");
        const again = { id: `q${id}-${made.length}`, call: `c${turn}-${id}`, isDecided: old.isDecided };
        made.push(call(again.call, "Bash", `Bash ${id}`, { command: "ls" }));
        made.push(ask(again.id, again.call, { replaces: old.id }));
        if (old.isDecided) made.push(allow(again.id));
        asks = [...asks.filter((other) => other !== old), again];
        break;
      }
      case "decide": {
        const open = asks.filter(({ isDecided }) => !isDecided);
        const one = open[id % open.length];
        if (one) made.push({ ...allow(one.id), by: "owner" });
        if (one) one.isDecided = true;
        break;
      }
      case "end":
      case "cut":
        if (!isOpen) break;
        isOpen = false;
        if (kind === "end") asks = asks.filter(({ isDecided }) => !isDecided);
        made.push({
          type: "turn_end",
          turnId: `t${turn}`,
          stopReason: kind === "end" ? "end_turn" : "interrupted",
        });
        break;
      case "message":
        made.push({
          type: "user_message",
          messageId: "m",
          source: "owner",
          content: [{ type: "text", text: "hey" }],
        });
        break;
      case "fail":
        made.push({ type: "failure", code: "cut_off", message: "no" });
        break;
      case "warn":
        made.push({ type: "notice", severity: "warning", title: "careful" });
        break;
    }
  }
  return numbered(made);
}

const sorted = (shown: Shown) => [...shown].sort(([a], [b]) => a.localeCompare(b));

test("restored from a mark anywhere, and however late, it lists what it listed before, under the same keys", () => {
  fc.assert(
    fc.property(
      bodies,
      fc.array(fc.nat(100), { maxLength: 8 }),
      fc.array(fc.nat(60), { maxLength: 3 }),
      fc.integer({ min: 1, max: 7 }),
      (steps, kills, rolls, pace) => {
        const events = toEvents(steps);
        const live = new TranscriptContent({ starter: STARTER });
        let killed = new TranscriptContent({ starter: STARTER });
        const shown: Shown = new Map();
        const shownKilled: Shown = new Map();
        // Nothing of it is ever done, so it forgets nothing: that others forget must change nothing.
        const whole = new TranscriptContent({ starter: STARTER });
        for (let i = 1; i <= events.length; i++) {
          feedRest(live, events.slice(0, i));
          feedRest(killed, events.slice(0, i));
          feedRest(whole, events.slice(0, i));
          deliver(live, shown);
          if (i % pace === 0) deliver(killed, shownKilled);
          if (rolls.includes(i)) {
            live.roll();
            killed.roll();
            whole.roll();
          }
          if (kills.includes(i)) {
            const mark = JSON.parse(JSON.stringify(killed.mark())) as TranscriptMark;
            for (const page of killed.pages()) expect(killed.isNeeded(page.key, mark)).toBe(true);
            killed = restart(killed, events.slice(0, i));
          }
        }
        deliver(live, shown);
        deliver(killed, shownKilled);
        const shownWhole: Shown = new Map();
        deliver(whole, shownWhole);
        expect(sorted(shownKilled)).toEqual(sorted(shown));
        expect(sorted(shownWhole)).toEqual(sorted(shown));
        // The thread's buttons stand below one message at most.
        for (const id of ["done", "history"]) {
          expect([...shown.values()].filter(({ buttons }) => buttons.includes(id)).length).toBeLessThan(2);
        }
      },
    ),
    {
      numRuns: 600,
      // Words from before a turn stand in its first message, which is done when the turn's ask is asked again.
      examples: [
        [
          [
            { kind: "say", id: 1, text: "short" },
            { kind: "call", id: 0 },
            { kind: "ask", id: 0 },
            { kind: "again", id: 0 },
            { kind: "say", id: 0, text: "short" },
          ],
          [5],
          [],
          1,
        ],
      ],
    },
  );
});
