/** Tells who may write, and makes the answers to people who may not. */
import type { Right } from "../../shared/rights.ts";
import type { LetIn } from "../actions/frame/action.ts";
import type { Button } from "../actions/frame/controls.ts";
import { EditedSince, letInButton } from "../actions/let-in.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { isFromPerson } from "../discord/person-message.ts";
import type { Access } from "./access.ts";

/** How the offer of a guest's message calls the people who may let it in, by the right that the message needs. */
const LETS_IN = { type: "write", run: "begin threads" } as const;
/** The answer to a press that takes a message in, if no thread takes it any more. */
export const WENT_NOWHERE =
  "Nothing went in: a message like this one begins nothing here now. `/here` shows this channel's mode.";
/** The right that lets a message in: `run` if it would begin a thread. */
export type WriteRight = keyof typeof LETS_IN;

/** Whether its writer has the right where they wrote it. */
export function mayWrite(
  { may }: Pick<Access, "may">,
  message: DiscordMessage,
  right: Right = "type",
): boolean {
  return isFromPerson(message, (userId) => may(userId, right, message.channel_id));
}

/** Whether their writing in a channel has an answer: that of strangers has none. */
export function isAnswered(access: Pick<Access, "may">, message: DiscordMessage): boolean {
  return (["type", "propose", "read"] as const).some((right) => mayWrite(access, message, right));
}

/**
 * Makes the answer to somebody who may not write: a guest's message gets the button that lets it in, a viewer is told
 * once in a place who could, a stranger gets none.
 * @param right that the message needs
 */
export function answerToWriter(
  access: Pick<Access, "may" | "refusal" | "whoCould">,
  message: DiscordMessage,
  right: WriteRight = "type",
): Answer | undefined {
  const { id, author, channel_id: placeId } = message;
  if (mayWrite(access, message, "propose")) {
    const could = access.whoCould(right, placeId);
    const text = `✋ A guest wrote this. It waits until somebody who may ${LETS_IN[right]} here lets it in. ${could}`;
    return { name: `guest.${id}`, text, buttons: letInButton(id, editedAt(message)) };
  }
  if (mayWrite(access, message, "read"))
    return {
      name: `viewer.${author.id}`,
      text: `👀 ${access.refusal(author.id, right, placeId)}`,
      buttons: [],
    };
  return undefined;
}

/**
 * Puts a message in the name of the person who lets it in, if somebody does.
 * @throws EditedSince if the message is not the one that they looked at
 */
export function asLetIn(message: DiscordMessage, letIn: LetIn | undefined): DiscordMessage {
  if (!letIn) return message;
  const editedMs = editedAt(message);
  if (editedMs !== letIn.editedMs) throw new EditedSince(editedMs);
  return { ...message, author: { ...message.author, id: letIn.userId } };
}

function editedAt({ edited_timestamp }: DiscordMessage): number {
  return edited_timestamp == null ? 0 : Date.parse(edited_timestamp);
}

export interface Answer {
  /** The key of the answer: it is said once under one name. */
  name: string;
  text: string;
  buttons: readonly Button[];
}
