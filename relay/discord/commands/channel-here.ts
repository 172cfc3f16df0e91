/** The channel that a command was used in, or whose thread it was used in. */
import type { BaseInteraction } from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import type { DiscordId } from "../../../shared/ids.ts";
import type { ServedChannel } from "../../threads/channels.ts";
import { placeOf } from "../api.ts";
import type { CommandContext } from "./command.ts";

type Context = Pick<CommandContext, "channels" | "threads">;
type Used = Pick<BaseInteraction, "channelId" | "channel">;

/** Undefined if it is not served. */
export function findServed(interaction: Used, { channels, threads }: Context): ServedChannel | undefined {
  return channels.find(channelOf(interaction, threads));
}

/** Its id, served or not. */
export function channelOf({ channelId, channel }: Used, threads: Context["threads"]): DiscordId {
  const live = threads.find(placeOf({ channelId }));
  if (live?.channelId !== undefined) return live.channelId;
  return placeOf({ channelId: (channel?.isThread() ? channel.parentId : null) ?? channelId });
}

/**
 * Where a thread that a person asks for begins: in the channel where they ask.
 * @param dir as they wrote it, if they did
 * @throws AppError `invalid_request` if neither they nor the channel say where it runs
 */
export function chosenPlace(
  interaction: Used,
  context: Context,
  dir: string | null,
): { dir: string; channelId: DiscordId; served: ServedChannel | undefined } {
  const served = findServed(interaction, context);
  const chosen = dir ?? served?.row.dir;
  if (chosen === undefined)
    throw new AppError(
      "invalid_request",
      "dir: is needed here, since this channel has no directory of its own; /here gives it one.",
    );
  return { dir: chosen, channelId: served?.id ?? context.channels.choose(chosen, undefined), served };
}
