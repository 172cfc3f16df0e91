/** What people read in a channel of a message of theirs that waits, is old, or did not go in. */
import type { Log } from "../../shared/log.ts";
import type { Button } from "../actions/frame/controls.ts";
import { sendButton } from "../content/buttons.ts";
import { errorSentence, formatDuration, partlyText, threadWaitText } from "../content/texts.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { Access } from "./access.ts";
import type { Channel } from "./channel.ts";
import { answerToWriter, mayWrite, type WriteRight } from "./writers.ts";

/** A person who waits longer than this for a new thread is told how long. */
const MIN_TOLD_MS = 5_000;

export interface ChannelRepliesOptions {
  access: Pick<Access, "may" | "refusal" | "whoCould">;
  channel: Pick<Channel, "say">;
  log: Log;
  now: () => number;
}

export class ChannelReplies {
  readonly #options: ChannelRepliesOptions;

  constructor(options: ChannelRepliesOptions) {
    this.#options = options;
  }

  /** In the background: the thread is made even if nobody can be told. A wait that is soon over is not told. */
  wait(message: DiscordMessage, waitMs: number): void {
    const { now, log } = this.#options;
    if (waitMs < MIN_TOLD_MS) return;
    this.#reply(message, { name: `wait.${message.id}`, text: threadWaitText(waitMs, now()) }).catch(
      (error: unknown) => log.warn({ err: error }, "could not tell a person of a wait"),
    );
  }

  /**
   * Answers a message that does not go in by itself: an old one is asked about, and who may not write is told who could.
   * @param right that the message needs
   */
  async hold(message: DiscordMessage, ageMs: number, right: WriteRight): Promise<void> {
    const { access } = this.#options;
    if (!mayWrite(access, message)) {
      const answer = answerToWriter(access, message, right);
      return answer && this.#reply(message, answer);
    }
    const ago = formatDuration(ageMs / 1_000);
    const text = `⏳ You wrote this ${ago} ago, while nobody was listening. Is it still to be done?`;
    return this.#reply(message, { name: `ask.${message.id}`, text, buttons: sendButton(message.id) });
  }

  refuse(message: DiscordMessage, error: unknown): Promise<void> {
    const text = `⚠️ This did not go in. ${errorSentence(error)}`;
    return this.#reply(message, { name: `no.${message.id}`, text });
  }

  /** @param missing what did not go in; undefined if all did */
  async tellRest(message: DiscordMessage, missing: string | undefined): Promise<void> {
    if (missing === undefined) return;
    await this.#reply(message, { name: `no.${message.id}`, text: partlyText(missing) });
  }

  async #reply(
    message: DiscordMessage,
    { name, text, buttons = [] }: { name: string; text: string; buttons?: readonly Button[] },
  ): Promise<void> {
    const { channel, log } = this.#options;
    try {
      await channel.say(name, { text, buttons, replyTo: message.id });
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      log.warn({ err: error }, "could not reply to a person in the channel");
    }
  }
}
