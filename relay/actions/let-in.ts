/** Lets in a guest's message in the name of the person who presses, as it was when that person looked at it. */
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { action } from "./frame/action.ts";
import type { Button } from "./frame/controls.ts";
import { messageId, whole } from "./frame/parts.ts";

const CHANGED = "✋ The guest changed this message after it was offered. Read it again before you let it in.";

/** A guest changed their message after it was offered. */
export class EditedSince extends AppError {
  readonly editedMs: number;

  /** @param editedMs time of the last edit, in milliseconds since 1970; 0 if there was none */
  constructor(editedMs: number) {
    super("invalid_request", CHANGED);
    this.editedMs = editedMs;
  }
}

export const letIn = action({
  name: "let-in",
  parts: { messageId, editedMs: whole },
  right: "type",
  first: "update",
  run: async ({ messageId, editedMs }, press, { channels, inputs }) => {
    const { threadId, userId } = press;
    const asOffered = { userId, editedMs };
    try {
      const isInChannel = await channels.takeAfterAll(threadId, messageId, asOffered);
      if (!isInChannel) await inputs.sendAfterAll(threadId, messageId, asOffered);
    } catch (error) {
      if (!(error instanceof EditedSince)) throw error;
      return press.show({ content: CHANGED, buttons: letInButton(messageId, error.editedMs) });
    }
    await press.show({ content: `👍 <@${userId}> let it in.`, buttons: [] });
  },
});

/** @param editedMs time of the last edit, in milliseconds since 1970; 0 if there was none */
export function letInButton(messageId: DiscordId, editedMs: number): Button[] {
  return letIn.buttons({ messageId, editedMs }, "👍 Let it in", "success");
}
