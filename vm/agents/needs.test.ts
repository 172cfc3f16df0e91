import { expect, test } from "vitest";
import type { AskReply } from "../../shared/agent/api.ts";
import { emptyFold } from "../../shared/agent/fold.ts";
import { OWNER } from "../../shared/principal.ts";
import type { AgentRow } from "../store/agents.ts";
import type { StepRow } from "../store/steps.ts";
import type { StoredThread } from "../store/threads.ts";
import { listInbox, type OpenAgent } from "./needs.ts";

const NOW = Date.parse("2026-01-02T00:00:00.000Z");
const at = (hoursAgo: number) => new Date(NOW - hoursAgo * 3_600_000).toISOString();

function agent(threadId: string, status: AgentRow["status"], more: Partial<OpenAgent> = {}): OpenAgent {
  const thread = { threadId, title: "", dir: "d", command: "c", createdBy: OWNER, createdAt: NOW };
  return {
    thread: thread as StoredThread,
    agent: { threadId, number: 1, status, fold: { ...emptyFold(), ts: at(1) } } as AgentRow,
    now: { status, problem: null },
    lastTurn: undefined,
    ...more,
  };
}

const turn = (status: string, reason: string, hoursAgo: number): { lastTurn: StepRow } => ({
  lastTurn: { kind: "turn", status, reason, endedAt: at(hoursAgo) } as StepRow,
});
const ask = (threadId: string, hoursAgo: number) =>
  ({ threadId, kind: "plan", askedAt: at(hoursAgo), title: "x".repeat(10_000) }) as AskReply;

test("asks, failures and ends, in that order; what is old, stopped or of a thread that is over is none", () => {
  const items = listInbox(
    [
      agent("old", "idle", turn("completed", "end_turn", 25)),
      agent("ended", "idle", turn("completed", "end_turn", 3)),
      agent("newer", "idle", turn("completed", "max_tokens", 2)),
      agent("stopped", "idle", turn("cancelled", "cancelled", 1)),
      agent("works", "running", turn("completed", "end_turn", 1)),
      agent("failed", "failed", { now: { status: "failed", problem: "No runner." } }),
      agent("asks", "waiting"),
    ],
    [ask("asks", 5), ask("over", 6)],
    Date.parse(at(24)),
  );
  expect(items.map(({ kind, threadId, text }) => [kind, threadId, text.slice(0, 10)])).toEqual([
    ["plan", "asks", "xxxxxxxxxx"],
    ["failure", "failed", "No runner."],
    ["end", "newer", "max_tokens"],
    ["end", "ended", ""],
  ]);
  expect(items[0]?.text.length).toBeLessThanOrEqual(500);
});
