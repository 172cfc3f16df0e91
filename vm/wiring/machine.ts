/** What runs programs: tmux, control groups. Nothing is started here. */
import { Cgroups } from "../processes/cgroups.ts";
import { Programs } from "../threads/programs.ts";
import { TmuxServer } from "../tmux/server.ts";
import type { Setting } from "./setting.ts";
import type { Storage } from "./storage.ts";

export interface Machine {
  tmux: TmuxServer;
  cgroups: Cgroups | undefined;
  programs: Programs;
}

export function createMachine(setting: Setting, { stateDir, files }: Storage): Machine {
  const { config, log, releasers, wrapper, canUseCgroups } = setting;
  const tmux = new TmuxServer({ stateDir, env: config.threadEnv, log });
  const cgroups = canUseCgroups ? Cgroups.open(stateDir) : undefined;
  releasers.add("control groups", () => cgroups?.close());
  return { tmux, cgroups, programs: new Programs({ tmux, files, cgroups, wrapper }) };
}
