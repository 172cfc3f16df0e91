/** What a slash command is, and what several of them need. */
import type {
  AutocompleteInteraction,
  ChatInputCommandInteraction,
  RESTPostAPIChatInputApplicationCommandsJSONBody,
  SlashCommandStringOption,
} from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import type { Right } from "../../../shared/rights.ts";
import { threadWaitText } from "../../content/texts.ts";
import type { LiveThread } from "../../kinds/kind.ts";
import type { Screenshots } from "../../screenshot/screenshot.ts";
import type { Vm, VmThread } from "../../sidecar/vm.ts";
import type { Access } from "../../threads/access.ts";
import type { Beginnings } from "../../threads/beginnings.ts";
import type { Channels } from "../../threads/channels.ts";
import type { Endings } from "../../threads/endings.ts";
import type { Here } from "../../threads/here.ts";
import type { Threads } from "../../threads/threads.ts";
import { placeOf } from "../api.ts";

/** What one option of a command takes; Discord's own limit. */
export const MAX_OPTION_CHARACTERS = 6_000;

/** In place of a channel's own choice: as the sidecar's settings have it. */
export const USUAL = "default";

/** The option that names the agent which hears a channel. */
export const HEARER_OPTION = "agent";

export interface CommandContext {
  vm: Vm;
  threads: Threads;
  channels: Channels;
  /** Reads the channels' settings anew; resolves once they count. */
  refreshChannels: () => Promise<void>;
  here: Here;
  beginnings: Beginnings;
  endings: Endings;
  screenshots: Screenshots;
  access: Access;
  /** A thread leaves the lists this long after its end, or after its agent fell idle. */
  listMinutes: number;
  now: () => number;
}

export interface Command {
  definition: RESTPostAPIChatInputApplicationCommandsJSONBody;
  /** The right that a person needs to use it. */
  right: Right | ((interaction: ChatInputCommandInteraction | AutocompleteInteraction) => Right);
  /** Only the person who asked sees the answer. */
  isPrivate: boolean | ((interaction: ChatInputCommandInteraction) => boolean);
  run: (interaction: ChatInputCommandInteraction, context: CommandContext) => Promise<void>;
}

/** If it may be left out, and is the channel's then, it comes after the options that are needed. */
export function dirOption(description: string, isRequired = false) {
  return (option: SlashCommandStringOption) =>
    option.setName("dir").setDescription(description).setAutocomplete(true).setRequired(isRequired);
}

/** Tells whoever used the command how long Discord makes them wait for a new thread. */
export function tellWait(
  interaction: Pick<ChatInputCommandInteraction, "editReply">,
  now: () => number,
): (ms: number) => void {
  return (ms) => {
    // The thread is made even if this answer does not get through; the last answer comes all the same.
    interaction.editReply(threadWaitText(ms, now())).catch(() => undefined);
  };
}

/** The thread that the command was used in, in the name of who used it. @throws AppError */
export function threadHere(interaction: ChatInputCommandInteraction, threads: Threads): VmThread {
  return liveThreadHere(interaction, threads).vm.as(interaction.user.id);
}

/** As {@link threadHere}, as the relay shows it. */
export function liveThreadHere(interaction: ChatInputCommandInteraction, threads: Threads): LiveThread {
  const thread = threads.find(placeOf(interaction));
  if (thread) return thread;
  throw new AppError(
    "invalid_request",
    `/${interaction.commandName} works only in a terminal's or an agent's thread; /status lists them.`,
  );
}
