/** The options by which commands bound what a new thread may take of the machine. */
import type { ChatInputCommandInteraction, SlashCommandOptionsOnlyBuilder } from "discord.js";
import {
  type Budget,
  MIN_CPUS,
  MIN_PIDS,
  NOT_MEMORY,
  parseMemory,
  RESOURCES,
} from "../../../shared/budget.ts";
import { AppError } from "../../../shared/errors.ts";

const MAX_MEMORY_CHARACTERS = 20;

export function addBudgetOptions(options: SlashCommandOptionsOnlyBuilder): void {
  options.addStringOption((option) =>
    option
      .setName("memory")
      .setDescription("How much memory it may take, such as 512M or 2G; beyond it a process of it ends")
      .setMaxLength(MAX_MEMORY_CHARACTERS),
  );
  options.addNumberOption((option) =>
    option
      .setName("cpu")
      .setDescription("How many processors it may keep busy, such as 1.5")
      .setMinValue(MIN_CPUS),
  );
  options.addIntegerOption((option) =>
    option
      .setName("pids")
      .setDescription("How many processes it may have at once, with their threads")
      .setMinValue(MIN_PIDS),
  );
}

/** Undefined if none was chosen. @throws AppError `invalid_request` */
export function chosenBudget({ options }: Pick<ChatInputCommandInteraction, "options">): Budget | undefined {
  const text = options.getString("memory");
  const memory = text === null ? undefined : parseMemory(text);
  if (text !== null && memory === undefined) throw new AppError("invalid_request", `memory: ${NOT_MEMORY}.`);
  const budget = {
    memory,
    cpu: options.getNumber("cpu") ?? undefined,
    pids: options.getInteger("pids") ?? undefined,
  };
  return RESOURCES.some((resource) => budget[resource] !== undefined) ? budget : undefined;
}
