/** The agent that hears the channel in which a command was used. */
import type { BaseInteraction } from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import type { DiscordId, ThreadId } from "../../../shared/ids.ts";
import type { MainStatus } from "../../../shared/voice-api.ts";
import { channelOf } from "./channel-here.ts";
import type { CommandContext } from "./command.ts";

type Used = Pick<BaseInteraction, "channelId" | "channel">;
type Context = Pick<CommandContext, "threads" | "vm">;

/** As it is now, made or not. @throws AppError `unsupported` if no agent hears the channel, and says how one does */
export async function mainHere(
  interaction: Used,
  { threads, vm }: Context,
): Promise<MainStatus & { channelId: DiscordId }> {
  const channelId = channelOf(interaction, threads);
  const found = await vm.voice.getMain(channelId).catch((error: unknown) => {
    // A channel that nobody serves is heard by nobody either.
    if (error instanceof AppError && (error.code === "not_found" || error.code === "unsupported"))
      return undefined;
    throw error;
  });
  if (found) return { ...found, channelId };
  throw new AppError(
    "unsupported",
    `No agent hears <#${channelId}>. \`/here mode:main\` gives it one, \`/main hear\` adds it to one.`,
  );
}

/** As {@link mainHere}, one that has its thread. @throws AppError `not_found` if nobody has written to it yet */
export async function findMainHere(
  interaction: Used,
  context: Context,
): Promise<MainStatus & { channelId: DiscordId; threadId: ThreadId }> {
  const { threadId, ...main } = await mainHere(interaction, context);
  if (threadId !== null) return { ...main, threadId };
  throw new AppError(
    "not_found",
    "Nobody has written to this channel's agent yet: the first message makes it.",
  );
}
