/** What a terminal's thread tells besides its text: its bell, that it was made small, and its end. Pure. */
import { findDiscordId, type Source } from "../../shared/principal.ts";
import type { Thread } from "../sidecar/names.ts";
import { DONE_BUTTON } from "./buttons.ts";
import type { Notice } from "./content.ts";
import { describeExit, formatDuration } from "./texts.ts";

/** A program can ring without end; so often people are told. */
const BELL_INTERVAL_MS = 60_000;
/** Shorter runs end under the eyes of whoever started them. */
const MENTION_AFTER_SECONDS = 60;

/** What was told, as the mark keeps it. */
export interface Told {
  /** How many bells. */
  readonly bells: number;
  /** `endedAt` of the last end. */
  readonly end: string | undefined;
  /** `heldSmallUntil` of the last time that the terminal was made small. */
  readonly small: string | undefined;
}

export interface NoticeFacts {
  readonly thread: Pick<Thread, "createdBy">;
  /** How often the bell has rung. */
  readonly bells: number;
  /** The thread's terminal as it was made small, if it was. */
  readonly small: Pick<Thread, "cols" | "rows" | "heldSmallUntil">;
  /** The thread as it ended; undefined while its process runs. */
  readonly ended: Thread | undefined;
  readonly told: Told;
  /** When a bell was told last. */
  readonly lastBellAt: number;
}

/** The bell before the end. */
export function listNotices(
  { thread, bells, small, ended, told, lastBellAt }: NoticeFacts,
  now: number,
): Notice[] {
  const notices: Notice[] = [];
  if (bells > told.bells && now - lastBellAt >= BELL_INTERVAL_MS) {
    notices.push({
      key: `bell.${bells}`,
      ...withMention("🔔 The terminal bell rang.", thread.createdBy),
      buttons: [],
    });
  }
  const until = small.heldSmallUntil;
  if (until !== null && until !== told.small) notices.push(describeSmall(small, Date.parse(until)));
  const end = ended && ended.endedAt !== told.end ? describeEnd(ended) : undefined;
  if (end) notices.push(end);
  return notices;
}

/** What is told once a notice is sent. */
export function afterNotice({ key }: Notice, { told, bells, small, ended }: NoticeFacts): Told {
  if (key.startsWith("small.")) return { ...told, small: small.heldSmallUntil ?? undefined };
  if (key.startsWith("bell.")) return { ...told, bells };
  return { ...told, end: ended?.endedAt ?? undefined };
}

function describeSmall({ cols, rows }: NoticeFacts["small"], until: number): Notice {
  const text =
    `📐 What this program printed kept all threads waiting, so its terminal was made smaller: it has ${cols} columns ` +
    `and ${rows} rows now. The program runs on. /resize can make it larger again <t:${Math.ceil(until / 1_000)}:R>.`;
  return { key: `small.${until}`, text, buttons: [] };
}

/** One message when a process has ended. Undefined if there is nothing to say. */
export function describeEnd(thread: Thread): Notice | undefined {
  const text = endSentence(thread);
  if (text === undefined || thread.endedAt === null) return undefined;
  const endedAt = Date.parse(thread.endedAt);
  const seconds = (endedAt - Date.parse(thread.createdAt)) / 1_000;
  const said = seconds > MENTION_AFTER_SECONDS ? withMention(text, thread.createdBy) : { text };
  return { key: `end.${endedAt}`, ...said, buttons: DONE_BUTTON };
}

/** Threads made through the API may have been made by somebody who is no Discord user. */
function withMention(text: string, createdBy: Source): { text: string; mention?: string } {
  const userId = findDiscordId(createdBy);
  if (userId === undefined) return { text };
  return { text: `${text} <@${userId}>`, mention: userId };
}

function endSentence(thread: Thread): string | undefined {
  if (thread.endedAt === null || thread.processRunning) return undefined;
  const seconds = (Date.parse(thread.endedAt) - Date.parse(thread.createdAt)) / 1_000;
  const ran = `after ${formatDuration(seconds)}`;
  const how = describeExit(thread);
  switch (thread.status) {
    case "running":
    case "idle":
    case "completed":
    case "waiting":
    case "queued":
    case "paused":
    case "failed":
    case "locked":
      return undefined;
    case "exited":
      return `⏹ The process ended with ${how} ${ran}. /done ends this thread.`;
    case "killed":
      return `⏹ This thread was killed ${ran}.`;
    case "lost":
      return `⚠️ This thread is lost: the terminal server on the VM died under it (a restart of the VM, most likely). Start a new one with /${thread.type}.`;
  }
}
