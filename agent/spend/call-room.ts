/** Room for the thread's next call of the model, within what all threads together may spend a day. */
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { callBoundUsd } from "../../shared/agent/limits.ts";
import { engineInputPath } from "../../shared/agent/paths.ts";
import { callPhase } from "../core/call-phase.ts";
import type { Running } from "../core/decide.ts";
import { thisProcess } from "../locks/alive.ts";
import type { DaySpend } from "./day-spend.ts";

/**
 * Takes and gives back room as calls begin and end; to be called once a round, when what was spent is written down.
 * @param folder of the thread
 * @returns whether a call that is about to begin may
 */
export function settleCalls(
  daySpend: DaySpend | undefined,
  fold: ThreadFold,
  running: Running | undefined,
  folder: string,
  now: Date,
): boolean {
  if (!daySpend) return true;
  const phase = callPhase(fold, running, now.getTime());
  if (phase.is === "none") daySpend.release();
  if (phase.is !== "due") return true;
  const generation = running?.launch.generation ?? fold.endedGeneration + 1;
  const holders = [thisProcess(), { fifo: engineInputPath(folder, generation) }];
  return daySpend.reserve(phase.key, callBoundUsd(fold), holders, now);
}
