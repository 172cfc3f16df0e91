/** Repeats work with a message while the sidecar does not answer. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadName } from "../../shared/ids.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";

/** Time for which the work is repeated, in milliseconds; a message that is sent again never goes in twice. */
const RETRY_MS = 2 * 60_000;

/** @throws what the work throws, but for `unavailable` within two minutes */
export async function patiently<T>(
  { threadId, signal, log }: { threadId: ThreadName; signal: AbortSignal; log: Log },
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  for (let waitMs = 250; ; waitMs = Math.min(waitMs * 2, 5_000)) {
    try {
      return await work();
    } catch (error) {
      const mayComeBack = error instanceof AppError && error.code === "unavailable";
      if (!mayComeBack || signal.aborted || performance.now() - startedAt > RETRY_MS) throw error;
      log.warn({ threadId, err: error }, "a message waits for the sidecar");
      await pause(waitMs, signal);
    }
  }
}
