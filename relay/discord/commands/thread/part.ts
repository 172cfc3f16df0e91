/** What a sub-command of /thread is, and the thread that it is about. */
import type {
  ChatInputCommandInteraction,
  SlashCommandStringOption,
  SlashCommandSubcommandBuilder,
} from "discord.js";
import type { ControlRequest } from "../../../../shared/agent/api.ts";
import { AppError } from "../../../../shared/errors.ts";
import type { Right } from "../../../../shared/rights.ts";
import { meantBy } from "../../../content/lists/threads.ts";
import { refuseWithoutTurns } from "../../../content/texts.ts";
import type { Thread } from "../../../sidecar/names.ts";
import type { Vm } from "../../../sidecar/vm.ts";
import type { CommandContext } from "../command.ts";

export interface Part {
  define: (part: SlashCommandSubcommandBuilder) => SlashCommandSubcommandBuilder;
  /** The right that a person needs to use it. */
  right: Right;
  isPrivate: boolean;
  run: (interaction: ChatInputCommandInteraction, context: CommandContext) => Promise<void>;
}

/** The option that every sub-command about one thread has; left out, it is the thread where it is used. */
export function threadOption(description: string, isRequired = false) {
  return (option: SlashCommandStringOption) =>
    option.setName("thread").setDescription(description).setAutocomplete(true).setRequired(isRequired);
}

/** @throws AppError if no thread is meant, or more than one. */
export async function getMeant(
  interaction: ChatInputCommandInteraction,
  { vm }: CommandContext,
): Promise<Thread> {
  const typed = interaction.options.getString("thread");
  if (typed !== null) return findThread(vm, typed);
  const here = (await vm.listThreads("all")).find(({ threadId }) => threadId === interaction.channelId);
  if (here) return here;
  throw new AppError("invalid_request", "thread: is needed here; inside a thread it may be left out.");
}

/**
 * The thread that a person means: by its id, a mention, its name, its number, its title, or a part of its title that no
 * other has.
 * @throws AppError `not_found`, or `invalid_request` if several are meant.
 */
export async function findThread(vm: Vm, typed: string): Promise<Thread> {
  const found = meantBy(await vm.listThreads("all"), typed);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (only)
    throw new AppError(
      "invalid_request",
      `thread: ${found.length} threads are called so; take a number or a name.`,
    );
  throw new AppError(
    "not_found",
    `thread: there is no thread ${typed.trim().slice(0, 100)}; /thread list shows them.`,
  );
}

/** Does something to the agent that is meant. @throws AppError also if it is a terminal. */
export async function control(
  interaction: ChatInputCommandInteraction,
  context: CommandContext,
  request: ControlRequest,
): Promise<Thread> {
  const thread = await getMeant(interaction, context);
  refuseWithoutTurns(thread, "only agents can be paused or changed");
  await context.vm.thread(thread.threadId).control(request);
  return thread;
}
