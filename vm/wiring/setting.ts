/** What every part of the sidecar is wired with. */
import type { Releasers } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { VmConfig } from "../config.ts";
import type { ViewersLimits } from "../console/viewers.ts";
import type { HubOptions } from "../events/hub.ts";
import type { GuestKind } from "../threads/kinds/kinds.ts";

export interface Setting {
  config: VmConfig;
  log: Log;
  now: () => number;
  /** Code that starts something adds its end here; what was started last ends first. */
  releasers: Releasers;
  /** The file of tmux/wrap.sh. */
  wrapper: string;
  /** The program of the agents' runner with its arguments. */
  runner: readonly string[];
  /** The program that follows logs, with its arguments. */
  follower: readonly string[];
  /** The program that runs a browser, with its arguments. */
  browser: readonly string[];
  /** The script of the thread that searches memories and transcripts. */
  indexer: string;
  /** The folder of the engines that come with threadmux: each has a program `main.cjs` in a folder of its name. */
  ownPrograms: string;
  /** The folder of the console's page. */
  page: string;
  /** The kinds of threads beside those that come with threadmux, by type. */
  guestKinds: Readonly<Record<string, GuestKind>>;
  viewersLimits: Partial<ViewersLimits>;
  eventsLimits: Pick<HubOptions, "lookMs" | "maxReaders">;
  /** False if the file system can't give back the start of a file. */
  canPunchLogs: boolean;
  canUseCgroups: boolean;
  /** How often it is looked for budgets that were reached. */
  budgetLookMs: number;
  /** How often what all threads take is bounded. */
  totalIntervalMs: number;
}
