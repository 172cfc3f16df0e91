/** What a message in the bot's channel asks for. Pure. */

import type { ChannelMode } from "../../shared/channel-api.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { DiscordMessage } from "./message-schema.ts";

/** "… started a thread": it answers nothing, and names the thread. */
const THREAD_CREATED = 18;
/** The type of a reference to a forwarded message, which answers nothing. */
const FORWARDED = 1;

export interface ChannelRules {
  mode: ChannelMode;
  botId: string;
}

/**
 * Whether a message may begin a thread: in mode `mention` only one that names the bot. That an answer notifies the bot
 * names nobody, so "thanks" below its words starts nothing that costs money.
 */
export function mayBegin({ content }: DiscordMessage, { mode, botId }: ChannelRules): boolean {
  switch (mode) {
    case "off":
    case "main": // there is one agent, whoever began it
      return false;
    case "mention":
      return mentionOf(botId).test(content);
    case "threads":
      return true;
    default:
      return mode satisfies never;
  }
}

/** The words without the bot's name at their ends. */
export function wordsFor({ content }: DiscordMessage, { botId }: ChannelRules): string {
  const name = mentionOf(botId).source;
  const start = new RegExp(`^(?:\\s*${name})+[\\s,:]*`).exec(content)?.[0] ?? "";
  let words = content.slice(start.length).trim();
  for (;;) {
    const end = [`<@${botId}>`, `<@!${botId}>`].find((mention) => words.endsWith(mention));
    if (end === undefined) return words;
    words = words.slice(0, -end.length).trimEnd();
  }
}

/** The message that this one answers, if it stands in the same channel. */
export function answered({ type, channel_id, message_reference }: DiscordMessage): DiscordId | undefined {
  if (type === THREAD_CREATED || message_reference?.type === FORWARDED) return undefined;
  const isHere = (message_reference?.channel_id ?? channel_id) === channel_id;
  return isHere ? message_reference?.message_id : undefined;
}

/** The thread that this message tells the beginning of. */
export function createdThread({ type, message_reference }: DiscordMessage): DiscordId | undefined {
  return type === THREAD_CREATED ? message_reference?.channel_id : undefined;
}

function mentionOf(botId: string): RegExp {
  return new RegExp(`<@!?${botId}>`);
}
