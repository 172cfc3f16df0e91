/** Ends the processes that carry a marker in their own environment, and nothing else: no child, no group. */
import { pause } from "../../shared/lifecycle.ts";
import { hasVariable } from "../../shared/process-marker.ts";
import { listProcesses } from "./processes.ts";

const END_TIMEOUT_MS = 10_000;
const STEP_MS = 10;

/** @throws Error naming those that do not end. */
export async function killMarked(marker: string): Promise<void> {
  const deadline = Date.now() + END_TIMEOUT_MS;
  for (;;) {
    const left = listProcesses((pid) => pid !== process.pid && hasVariable(pid, marker));
    if (left.length === 0) return;
    if (Date.now() > deadline)
      throw new Error(`process ${left.map(({ pid }) => pid).join(", ")} does not end`);
    for (const { pid } of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    await pause(STEP_MS);
  }
}
