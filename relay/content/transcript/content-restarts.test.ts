import fc from "fast-check";
import { expect, test } from "vitest";
import type { EventBody, ThreadEvent } from "../../../shared/agent/events.ts";
import { TranscriptContent, type TranscriptMark } from "./content.ts";
import { ask, call, done, feed, numbered, STARTER, say, start } from "./testing/events.ts";

const bodies = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("say"),
      text: fc.constantFrom("short", "long ".repeat(500), "a\nb\nc\nd\ne"),
    }),
    fc.record({ kind: fc.constant("call"), id: fc.nat(5) }),
    fc.record({ kind: fc.constant("done"), id: fc.nat(5) }),
    fc.record({ kind: fc.constant("ask"), id: fc.nat(5) }),
    fc.record({ kind: fc.constant("decide"), id: fc.nat(5) }),
    fc.record({ kind: fc.constantFrom("start", "end", "cut", "message", "fail", "warn") }),
  ),
  { minLength: 1, maxLength: 60 },
);

function toEvents(steps: readonly { kind: string; id?: number; text?: string }[]): ThreadEvent[] {
  let turn = 0;
  let isOpen = false;
  const made: EventBody[] = [];
  const begin = () => {
    if (isOpen) return;
    turn += 1;
    isOpen = true;
    made.push({ ...start, turnId: `t${turn}` } as EventBody);
  };
  for (const { kind, id = 0, text = "" } of steps) {
    switch (kind) {
      case "say":
        begin();
        made.push(say(text));
        break;
      case "call":
        begin();
        made.push(call(`c${turn}-${id}`, "Bash", `Bash ${id}`, { command: "ls" }));
        break;
      case "done":
        made.push(done(`c${turn}-${id}`));
        break;
      case "ask":
        begin();
        made.push(ask(`q${id}-${made.length}`, `c${turn}-${id}`));
        break;
      case "decide": {
        const request = made.find(
          (event) => event.type === "permission_request" && event.requestId.startsWith(`q${id}-`),
        );
        if (request?.type === "permission_request")
          made.push({
            type: "permission_response",
            requestId: request.requestId,
            outcome: "selected",
            optionId: "once",
          });
        break;
      }
      case "end":
      case "cut":
        if (!isOpen) break;
        isOpen = false;
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
          source: "api:x",
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

/** What each message shows, by its key. */
type Shown = Map<string, { text: string; buttons: string[] }>;

test("restored from a mark anywhere, it lists what it listed before, under the same keys", () => {
  fc.assert(
    fc.property(
      bodies,
      fc.array(fc.nat(100), { maxLength: 8 }),
      fc.array(fc.nat(60), { maxLength: 3 }),
      (steps, kills, rolls) => {
        const events = toEvents(steps);
        const live = new TranscriptContent({ starter: STARTER });
        let killed = new TranscriptContent({ starter: STARTER });
        const shown: Shown = new Map();
        const shownKilled: Shown = new Map();
        const deliver = (content: TranscriptContent, to: Shown) => {
          const pages = content.pages();
          for (const { key, presence, text, buttons } of pages) {
            if (presence === "unwanted") to.delete(key);
            else if (presence === "wanted" || to.has(key))
              to.set(key, { text: text || (to.get(key)?.text ?? ""), buttons: buttons.map(({ id }) => id) });
          }
          content.confirm(pages.filter(({ isSealed }) => isSealed).map(({ key }) => key));
        };
        const feedFrom = (content: TranscriptContent, until: number) => {
          // A restored one reads again what its mark is before.
          const bytes = (event: ThreadEvent) => Buffer.byteLength(JSON.stringify(event)) + 1;
          let byte = 0;
          const wanted: ThreadEvent[] = [];
          for (const event of events.slice(0, until)) {
            if (byte >= content.offset) wanted.push(event);
            byte += bytes(event);
          }
          feed(content, wanted);
        };
        for (let i = 1; i <= events.length; i++) {
          feedFrom(live, i);
          feedFrom(killed, i);
          deliver(live, shown);
          deliver(killed, shownKilled);
          if (rolls.includes(i)) {
            live.roll();
            killed.roll();
          }
          if (kills.includes(i)) {
            const mark = JSON.parse(JSON.stringify(killed.mark())) as TranscriptMark;
            for (const page of killed.pages()) expect(killed.isNeeded(page.key, mark)).toBe(true);
            killed = new TranscriptContent({ starter: STARTER, mark });
            feedFrom(killed, i);
          }
        }
        deliver(live, shown);
        deliver(killed, shownKilled);
        expect([...shownKilled]).toEqual([...shown]);
        // The thread's buttons stand below one message at most.
        for (const id of ["done", "history"]) {
          expect([...shown.values()].filter(({ buttons }) => buttons.includes(id)).length).toBeLessThan(2);
        }
      },
    ),
    { numRuns: 1_000 },
  );
});
