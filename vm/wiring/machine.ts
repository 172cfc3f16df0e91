/** What runs programs and knows of their terminals: tmux and control groups, which are not started here, and the sandbox, which is tried. */
import { ConfigError } from "../../shared/config.ts";
import { Fault } from "../../shared/doctor.ts";
import type { Log } from "../../shared/log.ts";
import type { SandboxHealth } from "../../shared/machine-api.ts";
import { type FoundSandbox, findSandbox } from "../agents/sandbox.ts";
import { BudgetGroups } from "../processes/budget-groups.ts";
import { Cgroups } from "../processes/cgroups.ts";
import { LineDisciplines } from "../processes/line-discipline.ts";
import { Budgets } from "../threads/budgets.ts";
import { Programs } from "../threads/programs.ts";
import { TmuxServer } from "../tmux/server.ts";
import type { Setting } from "./setting.ts";
import type { Storage } from "./storage.ts";

export interface Machine {
  tmux: TmuxServer;
  cgroups: Cgroups | undefined;
  budgets: Budgets;
  programs: Programs;
  lineDisciplines: LineDisciplines;
  /** What keeps agents' commands in. */
  foundSandbox: FoundSandbox;
}

/** @throws ConfigError if this machine can't keep agents in as `workspace` says: they would have more rights than that */
export async function createMachine(
  setting: Setting,
  { stateDir, reposDir, files, store }: Storage,
): Promise<Machine> {
  const { config, log, now, releasers, wrapper, canUseCgroups, budgetLookMs: lookMs } = setting;
  const tmux = new TmuxServer({ stateDir, env: config.threadEnv, log });
  const cgroups = canUseCgroups ? Cgroups.open(stateDir) : undefined;
  releasers.add("control groups", () => cgroups?.close());
  const budgetGroups = canUseCgroups ? BudgetGroups.open(stateDir, cgroups) : BudgetGroups.none();
  releasers.add("budgets' control groups", () => budgetGroups.close());
  const budgets = new Budgets({ store, groups: budgetGroups, usual: config.budget, lookMs, log, now });
  releasers.add("budgets", () => budgets.close());
  const lineDisciplines = new LineDisciplines();
  releasers.add("the shell that asks about terminals", () => lineDisciplines.close());
  const { sandboxReads: reads = [], sandboxWrites: writes = [], sandboxNetwork: network = "off" } = config;
  const foundSandbox = await findSandbox(config.sandbox, stateDir, config.threadEnv, {
    reposDir,
    reads,
    writes,
    network,
  });
  const fault = findSandboxFault(foundSandbox.health);
  if (fault) throw new ConfigError([`AGENT_SANDBOX: ${fault.says}; ${fault.mend}`]);
  saySandbox(foundSandbox.health, log);
  const programs = new Programs({ tmux, files, cgroups, budgets, wrapper });
  return { tmux, cgroups, budgets, programs, lineDisciplines, foundSandbox };
}

/** Without this sandbox agents would have more rights than the settings give them: the sidecar does not start. */
export function findSandboxFault({ mode, problem }: SandboxHealth): Fault | undefined {
  if (mode !== "workspace" || problem === null) return undefined;
  return new Fault(
    `this machine can't make workspace (${problem})`,
    "install bubblewrap and let this user have user namespaces, or set AGENT_SANDBOX to secrets or state",
  );
}

/** A machine that can't make the sandbox is no reason not to start, but nobody shall believe in it. */
function saySandbox({ mode, form, problem }: SandboxHealth, log: Log): void {
  if (problem !== null)
    log.warn({ mode, problem }, "this machine refuses the sandbox: agents run without one");
  else if (form !== null) log.info({ mode, form }, "agents run in a sandbox");
}
