import { expect, test } from "vitest";
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { isTold, Story } from "./story.ts";

const ask = { type: "permission_request", requestId: "q", toolCallId: "c", options: [] };
const limit = { ...ask, limit: { name: "turns" } };
const end = { type: "turn_end", turnId: "t", stopReason: "interrupted" };
const behind = { type: "delivery_update" };
const gone = (reason: string) => ({ type: "engine_end", generation: 1, reason });
const answer = { type: "permission_response", requestId: "q", outcome: "selected" };

const events = (bodies: readonly object[]) =>
  bodies.map((body, i) => ({ seq: i + 1, ...body }) as unknown as ThreadEvent);

test("a plain remark is a row of its own", () => {
  const remark = { type: "notice", severity: "info", title: "It is so" };
  expect(new Story().add(events([remark]))).toHaveLength(1);
  expect(events([remark, { type: "step_end" }]).map(isTold)).toEqual([true, false]);
});

test.each([
  ["a pause", "paused", [ask, end, gone("paused")]],
  ["an ask that waits for its answer", "ask", [ask, end, behind, behind, gone("parked"), answer]],
  ["a limit", "limit", [limit, end, behind, gone("parked")]],
  ["the provider", "provider", [{ ...end, usageLimit: {} }, gone("parked")]],
  ["a crash", undefined, [ask, end, gone("crashed")]],
  ["something that is not told yet", undefined, [ask, end, behind]],
])(
  "a turn that was cut off by %s says so, in whatever parts its events are loaded",
  (_what, rest, bodies) => {
    const all = events(bodies);
    const restIn = (rows: readonly { event: ThreadEvent; rest?: unknown }[]) =>
      rows.find(({ event }) => event.type === "turn_end")?.rest;
    for (let cut = 0; cut <= all.length; cut++) {
      const parts = [all.slice(0, cut), all.slice(cut)];
      for (const order of [parts, parts.toReversed()]) {
        const story = new Story();
        const rows = order.flatMap((part) => story.add(part));
        expect(restIn(rows), `cut at ${cut}`).toBe(rest);
      }
    }
  },
);
