/** What came of a run, as its thread tells. Pure. */
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { LIMIT_NAMES } from "../../shared/agent/limit-schema.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { StepRow } from "../store/steps.ts";
import type { StoredThread } from "../store/threads.ts";

export interface Outcome {
  status: "done" | "failed" | "unknown" | "skipped";
  reason?: string;
  output?: string;
  threadId?: ThreadId;
  /** Why the job is paused with it, a sentence for a person. */
  pauses?: string;
}

/**
 * @param inputId of the run's message, which the agent's runner has read
 * @returns undefined while the turn that has the message goes on, or waits
 */
export function outcomeOfAgent(
  fold: ThreadFold,
  inputId: string,
  lastTurn: Pick<StepRow, "status" | "reason"> | undefined,
): Outcome | undefined {
  const limit = fold.asks.find(({ limit: asked }) => asked !== undefined)?.limit?.name ?? fold.stoppedAt;
  // Nobody may be there to raise it: the run is over, its thread waits for a person.
  if (limit)
    return {
      status: "failed",
      reason: `limit: ${[...LIMIT_NAMES, "dayUsd"].includes(limit) ? limit : `${limit}'s own`}`,
    };
  if (fold.failure) return { status: "failed", reason: fold.failure.code };
  const isIt = ({ messageId }: { messageId: string }) => messageId === inputId;
  const isWaiting = fold.messages.some(isIt) || (fold.held ?? []).some(isIt);
  const isDelivered = fold.deliveries.some(({ messages }) => messages.some(isIt));
  if (isWaiting || isDelivered || fold.turn !== null) return undefined;
  if (!lastTurn) return { status: "failed", reason: "its input was taken back" };
  if (lastTurn.status === "completed") return { status: "done" };
  return { status: "failed", reason: `the turn ended: ${lastTurn.reason ?? lastTurn.status}` };
}

/** Undefined while its command runs. */
export function outcomeOfTerminal({ status, exitCode, signal }: StoredThread): Outcome | undefined {
  switch (status) {
    case "exited":
      if (exitCode === 0) return { status: "done" };
      return { status: "failed", reason: signal === null ? `exit code ${exitCode ?? "unknown"}` : signal };
    case "killed":
      return { status: "failed", reason: "its thread was ended" };
    case "lost":
      return { status: "failed", reason: "its terminal is lost" };
    default:
      return undefined;
  }
}
