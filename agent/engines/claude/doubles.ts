/**
 * Switches off what claude has built in and threads have too, or what would go round a thread. The person's own settings
 * bring some of it back; a repository's settings bring none.
 */
import type { Settings } from "./settings.ts";

/** These go round the holds, the ledger or the locks of threads: nobody's settings bring them back. */
const NEVER = ["SendMessage", "ListAgents", "EnterWorktree", "ExitWorktree"];

/** These begin turns by themselves or keep the program up: their bare name in `permissions.allow` brings them back. */
const UNLESS_ALLOWED = [
  "CronCreate",
  "CronDelete",
  "CronList",
  "ScheduleWakeup",
  "Monitor",
  "Workflow",
  "ReportFindings",
];

/** @param own the person's settings: those that their arguments name, and those of their home. Pure. */
export function disallowedTools(own: readonly Settings[]): string[] {
  const wanted = new Set(own.flatMap(({ permissions }) => permissions?.allow ?? []));
  return [...UNLESS_ALLOWED.filter((tool) => !wanted.has(tool)), ...NEVER];
}

/** Other sessions of the machine write to this one by a socket of claude's own; its memory is kept outside a thread. */
export function settingsAgainstDoubles(own: readonly Settings[]): Settings {
  const wantsMemory = own.some(({ autoMemoryEnabled }) => autoMemoryEnabled === true);
  return { crossSessionInbound: "refuse", ...(!wantsMemory && { autoMemoryEnabled: false }) };
}
