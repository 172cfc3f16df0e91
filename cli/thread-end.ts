/** How a thread has ended, or rests, for a person. */
import type { Thread } from "../shared/api.ts";

export function describeEnd({
  status,
  exitCode,
  signal,
}: Pick<Thread, "status" | "exitCode" | "signal">): string {
  if (["idle", "completed", "waiting", "paused", "failed"].includes(status)) return status; // an agent that goes on later
  const how =
    signal !== null ? `ended by ${signal}` : exitCode !== null ? `ended with exit code ${exitCode}` : "ended";
  return status === "killed" || status === "lost" ? `${status}, ${how}` : how;
}
