/** *Branch from here*, a command in the menu of a message: another thread goes on from there, this one as before. */
import {
  ApplicationCommandType,
  ContextMenuCommandBuilder,
  type MessageContextMenuCommandInteraction,
} from "discord.js";
import { AppError } from "../../shared/errors.ts";
import { nextSeq, parseKey } from "../content/transcript/details.ts";
import { channelIdOf } from "../sidecar/names.ts";
import { readFrom } from "../sidecar/transcript-reader.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { findAgent } from "./agent-details.ts";
import { placeOf } from "./api.ts";
import { type CommandContext, tellWait } from "./commands/command.ts";

export const BRANCH = "Branch from here";

export const branchDefinition = new ContextMenuCommandBuilder()
  .setName(BRANCH)
  .setType(ApplicationCommandType.Message)
  .toJSON();

/** The command was used; a private answer has been begun. @throws AppError */
export async function branchFrom(
  interaction: MessageContextMenuCommandInteraction,
  { vm, beginnings, channels, now }: CommandContext,
): Promise<void> {
  const { targetMessage, applicationId, user } = interaction;
  const thread = await findAgent(vm, placeOf(interaction), BRANCH);
  const parent = await thread.get();
  const isAgents = targetMessage.author.id === applicationId;
  const point = isAgents ? await findPoint(thread, targetMessage.id) : { messageId: targetMessage.id };
  const threadId = await beginnings.branch(
    {
      channelId: channels.choose(parent.dir, channelIdOf(parent)),
      parent,
      userId: user.id,
      from: targetMessage.url,
      ...point,
    },
    tellWait(interaction, now),
  );
  await interaction.editReply(
    `↳ The branch is <#${threadId}>. Files stay as they are; this thread goes on as before.`,
  );
}

/** Up to the end of what the message shows: one that tells of steps reaches to the next message. */
async function findPoint(thread: VmThread, messageId: string): Promise<{ seq?: number }> {
  const kept = await thread.listKeptMessages();
  const key = kept.find((one) => one.messageId === messageId)?.key;
  const meant = key === undefined ? undefined : parseKey(key);
  if (!meant) {
    throw new AppError(
      "invalid_request",
      "Nothing of the conversation stands in this message, or it is of a time before this was kept.",
    );
  }
  if (meant.kind !== "t") return { seq: meant.seq };
  const until = nextSeq(
    meant.seq,
    kept.map(({ key }) => key),
  );
  // What people wrote below the message, and the agent read in the same turn, is not the branch's.
  const { events } = await readFrom(
    thread,
    meant.seq,
    ({ type, seq }) => type === "delivery" || seq >= until,
  );
  const last = events.at(-1);
  if (last && (last.type === "delivery" || last.seq >= until)) return { seq: last.seq - 1 };
  return last ? { seq: last.seq } : {};
}
