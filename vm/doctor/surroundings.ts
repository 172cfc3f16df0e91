/** The machine as the looks ask it. Files and programs are not in it: tests make those themselves. */
import { randomUUID } from "node:crypto";
import { findSandbox } from "../agents/sandbox.ts";
import { BudgetGroups, type Problems } from "../processes/budget-groups.ts";
import { Cgroups } from "../processes/cgroups.ts";
import { freeDiskBytes, freeInodes } from "../streams/disk.ts";
import { FolderWatch } from "../streams/folder-watch.ts";

export interface Surroundings {
  nodeVersion: string;
  now: () => number;
  /** Whether the user that looks is root. */
  isRoot: boolean;
  /** When the program that runs was built. */
  builtAt: number;
  freeDiskBytes: (folder: string) => number;
  freeInodes: (folder: string) => number | undefined;
  /** @returns why a folder can't be watched */
  findWatchProblem: (folder: string) => unknown;
  canMakeGroups: (stateDir: string) => boolean;
  /** @returns why budgets are not held, by what they are of */
  findBudgetProblems: (stateDir: string) => Problems;
  findSandbox: typeof findSandbox;
}

export function machineAround(builtAt: number): Surroundings {
  return {
    nodeVersion: process.version,
    now: Date.now,
    isRoot: process.getuid?.() === 0,
    builtAt,
    freeDiskBytes,
    freeInodes,
    findWatchProblem,
    canMakeGroups,
    findBudgetProblems,
    findSandbox,
  };
}

function findWatchProblem(folder: string): unknown {
  let problem: unknown;
  const watch = new FolderWatch(
    folder,
    () => undefined,
    (error) => {
      problem = error;
    },
  );
  watch.close();
  return problem;
}

/** In a group of its own: that of a sidecar which runs stays. */
function canMakeGroups(stateDir: string): boolean {
  const groups = Cgroups.open(`${stateDir}/${randomUUID()}`);
  groups?.close();
  return groups !== undefined;
}

/** In groups of its own too. */
function findBudgetProblems(stateDir: string): Problems {
  const own = `${stateDir}/${randomUUID()}`;
  const groups = Cgroups.open(own);
  const budgets = BudgetGroups.open(own, groups);
  budgets.close();
  groups?.close();
  return budgets.problems;
}
