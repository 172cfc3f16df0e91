/** What needs a person, as `/inbox` and the person's message in the channel tell it. Pure. */
import type { InboxItem } from "../../../shared/agent/api.ts";
import { formatAgo } from "../texts.ts";
import { clipEnd, clipMarkdown, inline } from "../transcript/inline.ts";

const MAX_TEXT = 120;
const MAX_RAW = 500;

/** One line: what it is about, and a link to the thread. */
export function inboxLine({ kind, home, number, title, at, text }: InboxItem): string {
  const { mark, says } = KINDS[kind];
  const name = home === undefined ? short(title) : `<#${home}>`;
  const what = text === "" ? says : `${says}: ${short(text)}`;
  return `${mark} **#${number}** ${name} ${what} · ${formatAgo(Date.parse(at))}`;
}

const KINDS: Record<InboxItem["kind"], { mark: string; says: string }> = {
  permission: { mark: "❓", says: "asks" },
  question: { mark: "❓", says: "has a question" },
  plan: { mark: "📋", says: "has a plan" },
  failure: { mark: "⚠️", says: "can't go on" },
  end: { mark: "✅", says: "has finished" },
};

/** Above the lines of a person's message. It mentions them by name, and notifies nobody. */
export function inboxHead(userId: string): string {
  return `📥 **Needs you**, <@${userId}>`;
}

/** What the message says for a while before it goes. */
export function doneText(userId: string): string {
  return `📭 Nothing needs you, <@${userId}>.`;
}

/** At most so many units, whatever has to be escaped. */
function short(text: string): string {
  return clipMarkdown(inline(clipEnd(text, MAX_RAW), MAX_TEXT), MAX_TEXT);
}
