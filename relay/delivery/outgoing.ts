/** Messages in the shape in which they are sent. */
import type { MessageText } from "../content/content.ts";
import type { OutgoingMessage } from "../discord/api.ts";
import { toComponents } from "../discord/buttons.ts";
import { findRefusal } from "../discord/refusals.ts";

/** What the bot says besides the content, such as an answer to a person's message. */
export type Post = MessageText;

export function outgoing({
  text,
  buttons,
  selects,
  mention,
  isSilent,
  replyTo,
}: Post): Omit<OutgoingMessage, "nonce"> {
  const components = toComponents(buttons, selects);
  return {
    content: text,
    ...(components.length === 0 ? {} : { components }),
    ...(mention === undefined ? {} : { mention }),
    ...(isSilent ? { isSilent } : {}),
    ...(replyTo === undefined ? {} : { replyTo }),
  };
}

/** False if Discord says that the message is gone. */
export async function isThere(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (findRefusal(error) !== "unknown message") throw error;
    return false;
  }
}
