/** Waiting for a log to hold everything that its program printed. */
import type { ThreadId } from "../../shared/ids.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { sizeOfLog } from "./log-file.ts";
import type { Logs } from "./logs.ts";

const STEP_MS = 20;

/**
 * Waits until the sink has written everything: it waits for input, tmux has gone round its loop, and then it waits
 * still and the log has not grown. The wrapper's last pause has given tmux the time to read all of it.
 * @returns `unfinished` if the log still grows after `timeoutMs`.
 * @throws AppError `unavailable` if tmux does not answer.
 */
export async function drain(
  { tmux, logs }: { tmux: TmuxServer; logs: Logs },
  threadId: ThreadId,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<"drained" | "unfinished" | "aborted"> {
  let before = -1;
  for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += STEP_MS) {
    const { end } = sizeOfLog(logs.path(threadId));
    const isIdle = logs.isSinkIdle(threadId);
    if (isIdle && end === before) return "drained";
    before = isIdle ? end : -1;
    await tmux.ping();
    await pause(STEP_MS);
    if (signal?.aborted) return "aborted";
  }
  return "unfinished";
}
