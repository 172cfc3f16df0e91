/** The options by which commands bound what a new thread may take of the machine. */
import type { Command } from "commander";
import { type Budget, NOT_MEMORY, parseMemory, RESOURCES } from "../shared/budget.ts";
import { AppError } from "../shared/errors.ts";

export interface BudgetOptions {
  memory?: string;
  cpu?: string;
  pids?: string;
}

export function addBudgetOptions(command: Command): Command {
  return command
    .option("--memory <size>", "how much memory its processes may take together, such as 512M or 2G")
    .option("--cpu <number>", "how many processors it may keep busy, such as 1.5")
    .option("--pids <number>", "how many processes it may have at once, with their threads");
}

/** Reads the options; the sidecar's schema refuses values that do not fit. @throws AppError `invalid_request` */
export function budgetRequest({ memory, cpu, pids }: BudgetOptions): { budget?: Budget } {
  const budget = {
    memory: memory === undefined ? undefined : (parseMemory(memory) ?? refuse("--memory", NOT_MEMORY)),
    cpu: cpu === undefined ? undefined : numberOf("--cpu", cpu),
    pids: pids === undefined ? undefined : numberOf("--pids", pids),
  };
  return RESOURCES.some((resource) => budget[resource] !== undefined) ? { budget } : {};
}

/** As a problem of the request names them. */
export const BUDGET_OPTION_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  RESOURCES.map((resource) => [`budget.${resource}`, `--${resource}`]),
);

function numberOf(option: string, text: string): number {
  return /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : refuse(option, "must be a number");
}

function refuse(option: string, why: string): never {
  throw new AppError("invalid_request", `${option}: ${why}`);
}
