/** Threads as people read them in lists and choose them from lists. Pure. */

import { holdsText } from "../../../shared/agent/holds.ts";
import { isOpen } from "../../../shared/api.ts";
import { formatUse } from "../../../shared/budget.ts";
import { cleanLine, writeOutLine } from "../../../shared/clean-text.ts";
import { clip } from "../../../shared/clip.ts";
import type { Thread } from "../../sidecar/names.ts";
import {
  clipRaw,
  describeExit,
  escapeMarkdown,
  formatAgo,
  formatDuration,
  inlineCode,
  threadIcon,
} from "../texts.ts";
import { clipEnd, inline } from "../transcript/inline.ts";

/** Discord shows at most 100 characters of a choice. */
const MAX_CHOICE = 100;
/** No more of a text is looked at if it will be cut to a line. */
const MAX_RAW = 500;
const MAX_DIR = 100;
const MAX_BRANCH = 60;
const MAX_COMMAND = 120;
/** The link beside it is the whole name. */
const MAX_TITLE = 60;

export interface ListedNow {
  /** A thread leaves the list this long after its end, or after its agent fell idle. */
  listMinutes: number;
  now: number;
}

/** Whether a thread is worth a look: it is at work, it wants something, or its end is news. */
export function isListed(thread: Thread, { listMinutes, now }: ListedNow): boolean {
  const restingSince = findRest(thread);
  return restingSince === undefined || now - Date.parse(restingSince) <= listMinutes * 60_000;
}

/** Since when nothing goes on in a thread and nobody is wanted there; undefined if that is not so. */
function findRest({ status, waiting, activeAt, createdAt, endedAt }: Thread): string | undefined {
  switch (status) {
    case "killed":
    case "lost":
    case "exited":
      return endedAt ?? createdAt;
    case "idle":
    case "completed":
    case "locked":
      return waiting > 0 ? undefined : (activeAt ?? createdAt);
    case "running":
    case "waiting":
    case "queued":
    case "paused":
    case "failed":
      return undefined;
    default:
      return status satisfies never;
  }
}

/** The last line of a list that leaves threads out; none if it leaves out none. */
export function restLine(hidden: number): string[] {
  if (hidden === 0) return [];
  return [`-# ${hidden} more ${hidden === 1 ? "is" : "are"} idle or over: \`/thread list all:True\``];
}

/**
 * One line of `/thread list`.
 * @param depth how many threads it stands below
 */
export function listLine(thread: Thread, now: number, depth = 0): string {
  const { threadId, number, title, status } = thread;
  // Discord shows no name of a thread that was archived long ago.
  const name = isOpen(status) ? `<#${threadId}>` : inline(clipEnd(title, MAX_RAW), MAX_TITLE);
  // Em spaces: Markdown takes plain ones at the head of a line away.
  const below = depth === 0 ? "" : `${"\u2003".repeat(depth - 1)}└ `;
  const icon = title.startsWith(threadIcon(thread)) ? "" : `${threadIcon(thread)} `;
  const head = `${below}${icon}${number === null ? "" : `**#${number}** `}${name}`;
  const since = findRest(thread);
  const ago = since === undefined ? "" : ` · ${formatAge(Date.parse(since), now)}`;
  return `${head} · ${describeState(thread)}${originText(thread)}${ago}`;
}

/** Whose conversation a branch goes on from. */
function originText({ origin }: Thread): string {
  if (origin === null) return "";
  return ` · ↳ from ${origin.number === null ? inline(origin.threadId, MAX_TITLE) : `#${origin.number}`}`;
}

/** `/status`: one block of text a thread. */
export function statusText(
  thread: Thread,
  { branch, paused, now }: { branch: string | undefined; paused: string | undefined; now: number },
): string {
  const { threadId, type, engine, number, title, dir, command, createdAt } = thread;
  const kind = engine ? `${type} (${engine})` : type;
  const uptime = formatDuration((now - Date.parse(createdAt)) / 1_000);
  const on = branch === undefined ? "" : ` on ${inlineCode(branch, MAX_BRANCH)}`;
  const where = `${inlineCode(dir, MAX_DIR)}${on}`;
  const label = number === null ? "" : `#${number} `;
  const stopped = paused === undefined ? "" : ` · ⏸ not streaming: ${paused}`;
  const taken = formatUse(thread.budget);
  const budget = taken === "" ? "" : `\n⚖️ ${taken}`;
  return `**${label}${titleText(title)}** <#${threadId}>\n${threadIcon(thread)} ${kind} · ${where} · ${describeState(thread)}${originText(thread)} · up ${uptime}${stopped}\n${inlineCode(command, MAX_COMMAND)}${budget}`;
}

function titleText(title: string): string {
  return escapeMarkdown(clip(cleanLine(clipRaw(title)), MAX_TITLE));
}

/** What a thread does, or what it waits for. */
export function describeState(thread: Thread): string {
  const { status, awaiting, turn, doing, waiting, problem } = thread;
  const more = [
    status === "waiting" && awaiting !== null
      ? WANTS[awaiting]
      : status === "exited"
        ? `exited, ${describeExit(thread)}`
        : status,
    ...(turn ? [`step ${turn.step} · began ${formatAgo(Date.parse(turn.startedAt))}`] : []),
    ...(["running", "queued"].includes(status) && doing !== null
      ? [inline(clipEnd(doing, MAX_RAW), 80)]
      : []),
    ...(problem === null ? [] : [inline(clipEnd(problem, MAX_RAW), 120)]),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
  ];
  const held = inline(clipEnd(holdsText(thread.holds), MAX_RAW), 160);
  return [...more, ...(held === "" ? [] : [`🔒 ${held}`])].join(" · ");
}

const WANTS = {
  permission: "**asks to do something**",
  question: "**has a question**",
  plan: "**has a plan**",
} as const;

function formatAge(at: number, now: number): string {
  return `${formatDuration(Math.max(0, now - at) / 1_000)} ago`;
}

/** A thread in the list of those that a person may choose. */
export function threadChoice(thread: Thread): { name: string; value: string } {
  const { threadId, number, title, status } = thread;
  const label = number === null ? "" : `#${number} · `;
  const state = status === "running" ? "" : ` · ${status}`;
  const room = MAX_CHOICE - label.length - state.length;
  const text = writeOutLine(clipEnd(title, MAX_RAW)) || `${threadIcon(thread)} ${threadId}`;
  return { name: `${label}${clipEnd(text, room)}${state}`, value: threadId };
}

/** Whether a person who types this may mean that thread: by number, by title, or by id. */
export function isMeant({ threadId, number, title }: Thread, typed: string): boolean {
  const text = typed.trim().toLowerCase();
  const digits = /^#?(\d+)$/.exec(text)?.[1];
  if (digits !== undefined && number !== null && String(number).startsWith(digits)) return true;
  return title.toLowerCase().includes(text) || threadId.startsWith(typed.trim());
}

/**
 * The threads that a person may mean by what is typed whole. An id, a name or a number means one, as for the sidecar;
 * then a title, of open threads before ended ones; then a part of a title.
 */
export function meantBy(threads: readonly Thread[], typed: string): Thread[] {
  const text = typed.trim().toLowerCase();
  if (text === "") return [];
  const id = /^<#(\d+)>$/.exec(text)?.[1] ?? typed.trim();
  const number = /^#?0*([1-9]\d{0,8})$/.exec(text)?.[1];
  const exact =
    threads.find((thread) => thread.threadId === id || thread.ownId === id) ??
    threads.find(({ name }) => name?.toLowerCase() === text) ??
    threads.find((thread) => number !== undefined && thread.number === Number(number));
  if (exact) return [exact];
  const titled = threads.filter(({ title }) => title.toLowerCase() === text);
  const open = titled.filter(({ status }) => isOpen(status));
  if (titled.length > 0) return open.length > 0 ? open : titled;
  return number === undefined ? threads.filter((thread) => isMeant(thread, text)) : [];
}
