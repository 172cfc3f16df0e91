/** The answers below a person's message that did not go in, went in in part, or is old. */
import { AppError, type ErrorCode } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Button } from "../actions/frame/controls.ts";
import { lockedButtons, resumeButton, sendButton, typeAnywayButton } from "../content/buttons.ts";
import { errorSentence, formatDuration, partlyText } from "../content/texts.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { LiveThread } from "../kinds/kind.ts";
import type { Answer } from "./writers.ts";

const HIDDEN =
  "🔑 The program read this without showing it, as it does with a password. If it was one, delete your message: " +
  "Discord keeps it, and everybody who may read here sees it. Type the next one unseen: `threadmux attach` on the VM, " +
  "or the thread in the sidecar's console.";

/** The buttons below a refusal, by its code. */
const BUTTONS: Partial<Record<ErrorCode, (messageId: DiscordId) => readonly Button[]>> = {
  thread_paused: resumeButton,
  thread_locked: lockedButtons,
  would_complete: typeAnywayButton,
};

export class InputReplies {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** None of it went in. */
  async refuse(message: DiscordMessage, thread: LiveThread, error: unknown): Promise<void> {
    if (!(error instanceof AppError)) this.#log.error({ err: error }, "could not type a message");
    const code = error instanceof AppError ? error.code : "internal";
    const hint = code === "thread_ended" ? " Use /done to end this thread." : "";
    const text = `⚠️ This did not go in. ${errorSentence(error)}${hint}`;
    const buttons = BUTTONS[code]?.(message.id) ?? [];
    await this.#reply(message, thread, { name: `no.${message.id}`, text, buttons });
  }

  /** @param missing what did not go in; undefined if all did */
  async tellRest(message: DiscordMessage, thread: LiveThread, missing: string | undefined): Promise<void> {
    if (missing === undefined) return;
    await this.#reply(message, thread, { name: `no.${message.id}`, text: partlyText(missing) });
  }

  async hidden(message: DiscordMessage, thread: LiveThread): Promise<void> {
    await this.#reply(message, thread, { name: `hidden.${message.id}`, text: HIDDEN });
  }

  /** Answers somebody who may not write. */
  async answer(message: DiscordMessage, thread: LiveThread, answer: Answer): Promise<void> {
    await this.#reply(message, thread, answer);
  }

  async ask(message: DiscordMessage, thread: LiveThread, ageMs: number): Promise<void> {
    await this.#reply(message, thread, {
      name: `ask.${message.id}`,
      text: `⏳ You wrote this ${formatDuration(ageMs / 1_000)} ago, while nobody was listening. Is it still to go in?`,
      buttons: sendButton(message.id),
    });
  }

  async #reply(
    message: DiscordMessage,
    { delivery }: LiveThread,
    { name, text, buttons = [] }: { name: string; text: string; buttons?: readonly Button[] },
  ): Promise<void> {
    try {
      await delivery.say(name, { text, buttons, replyTo: message.id });
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      this.#log.warn({ threadId: message.channel_id, err: error }, "could not reply to a person");
    }
  }
}
