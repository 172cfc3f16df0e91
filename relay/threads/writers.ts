/** Tells who may write, and makes the answers to people who may not. */
import type { Right } from "../../shared/rights.ts";
import type { LetIn } from "../actions/frame/action.ts";
import type { Button } from "../actions/frame/controls.ts";
import { EditedSince, letInButton } from "../actions/let-in.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { isFromPerson } from "../discord/person-message.ts";
import type { Access } from "./access.ts";

const GUEST = "✋ A guest wrote this. It waits until somebody who may write lets it in.";
const VIEWER = "👀 You may look on here, not write. `/here` says who may.";

/** @param placeId the channel or thread that it goes to, if it was not written there */
export function mayWrite(
  { may }: Pick<Access, "may">,
  message: DiscordMessage,
  right: Right = "type",
  placeId: string = message.channel_id,
): boolean {
  return isFromPerson(message, (userId) => may(userId, right, placeId));
}

/** Makes the answer below a guest's message, with the button that lets it in. */
export function proposal(message: DiscordMessage): Answer {
  const buttons = letInButton(message.id, editedAt(message));
  return { name: `guest.${message.id}`, text: GUEST, buttons };
}

/** Makes the answer to somebody who may not write: a viewer gets it once in a thread, a stranger gets none. */
export function answerToWriter(access: Pick<Access, "may">, message: DiscordMessage): Answer | undefined {
  if (mayWrite(access, message, "propose")) return proposal(message);
  if (mayWrite(access, message, "read"))
    return { name: `viewer.${message.author.id}`, text: VIEWER, buttons: [] };
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
