/** What the relay says, as pure functions of what it knows. */
import { limitsOfView } from "../../shared/agent/engines/abilities.ts";
import { findEngine } from "../../shared/agent/engines/engines.ts";
import type { KillReply } from "../../shared/api.ts";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";
import { clip } from "../../shared/clip.ts";
import { AppError } from "../../shared/errors.ts";
import { kindOf, type Typed } from "../../shared/kinds.ts";
import { findDiscordId } from "../../shared/principal.ts";
import type { TerminalLink } from "../../shared/terminal-link.ts";
import { threadName } from "../../shared/title.ts";
import type { MergeWorktreeReply, WorktreeReply } from "../../shared/worktree-api.ts";
import type { Thread } from "../sidecar/names.ts";
import { fence } from "./pages.ts";
import { cleanRow } from "./text.ts";

const MAX_NAME_CHARACTERS = 100;
/** Below Discord's 2,000. */
const MAX_TEXT_CHARACTERS = 1_980;
/** With room for what stands around it. */
const MAX_BLOCK_CHARACTERS = 1_700;
const MAX_DIR = 100;
const MAX_COMMAND = 120;
const MAX_STARTER = 64;
const MAX_SIGNAL = 20;
const MAX_ERROR = 1_500;

/** What stands before a thread's name. */
export function threadIcon(thread: Typed): string {
  return kindOf(thread).icon;
}

/** A directory in the list of those that a person may choose. */
export function directoryChoice(dir: string, branch: string | undefined, isDirty: boolean): string {
  const where = clip(cleanLine(dir), MAX_NAME_CHARACTERS) || "?";
  if (branch === undefined) return where;
  const on = ` (${clip(cleanLine(branch), Math.floor(MAX_NAME_CHARACTERS / 2))}${isDirty ? "*" : ""})`;
  return `${clip(where, MAX_NAME_CHARACTERS - on.length)}${on}`;
}

/** The first message of a thread: what was asked for, whole where the name had to be cut. */
export function openingText(
  { dir, command, ...typed }: Pick<Thread, "type" | "facts" | "dir" | "command">,
  userId: string,
  engine?: string | null,
): string {
  const { icon, begins } = kindOf(typed);
  const head = `${icon} **${escapeMarkdown(clip(cleanLine(dir), MAX_DIR))}** ${begins}, started by <@${userId}>`;
  const note = engineNote(engine);
  return `${head}:\n${fenceWithin(command, clip, head + note)}${note}`;
}

/** What the thread will not show although people may look for it. */
function engineNote(engine: string | null | undefined): string {
  const declaration = findEngine(engine ?? undefined);
  const says = declaration && limitsOfView(declaration);
  return says === undefined ? "" : `\n-# Engine ${engine}: ${says}`;
}

/** The first message of a branch. */
export function branchText(
  { parent, userId, text, from, files = false }: BranchOpening,
  engine?: string | null,
): string {
  const name = parent.number === null ? inlineCode(parent.threadId, MAX_DIR) : `#${parent.number}`;
  const where = from === undefined ? "" : `, from ${from}`;
  const head = `↳ **Branch of ${name}**${where}, started by <@${userId}>. ${files ? "It has the files of that point in a worktree of its own" : "Files stay as they are now"}.`;
  const note = engineNote(engine);
  if (text === undefined) return `${head} It knows what was said up to there; write what comes next.${note}`;
  return `${head}\n${fenceWithin(text, clip, head + note)}${note}`;
}

export interface BranchOpening {
  parent: Pick<Thread, "threadId" | "number">;
  userId: string;
  text?: string;
  /** A link. */
  from?: string;
  files?: boolean;
}

/** The name of the Discord thread of a thread that Discord did not begin. */
export function threadTitle(thread: Thread): string {
  const { title } = thread;
  return title === "" ? threadName(thread) : clip(cleanLine(title), MAX_NAME_CHARACTERS);
}

/** The first message there. @param from the Discord thread that it came from */
export function homeText(
  { type, facts, dir, command, createdBy, engine }: Thread,
  from: string | undefined,
): string {
  const id = findDiscordId(createdBy);
  const by = id === undefined ? inlineCode(createdBy, MAX_STARTER) : `<@${id}>`;
  const where = from === undefined ? "" : ` from <#${from}>`;
  const { icon } = kindOf({ type, facts });
  const head = `${icon} **${escapeMarkdown(clip(cleanLine(dir), MAX_DIR))}**, started by ${by}${where}`;
  const note = engineNote(engine);
  return command.trim() === ""
    ? `${head}.${note}`
    : `${head}:\n${fenceWithin(command, clip, head + note)}${note}`;
}

/** In the Discord thread that it came from. */
export function linkText({ threadId, number, type, facts }: Thread, what: "child" | "branch"): string {
  const { hasTurns, icon, name } = kindOf({ type, facts });
  if (!hasTurns) return `↳ ${icon} Opened ${name}: <#${threadId}>`;
  return `↳ ${what === "child" ? "Child" : "Branch"}${number === null ? "" : ` #${number}`}: <#${threadId}>`;
}

/** In an agent's thread: what somebody wrote to it in the channel. */
export function channelInputText(userId: string, text: string): string {
  const said = escapeMarkdown(clip(cleanLine(clipRaw(text)), MAX_COMMAND));
  return `-# 💬 <@${userId}> in the channel: ${said === "" ? "a file" : said}`;
}

export function describeExit({ exitCode, signal }: Pick<Thread, "exitCode" | "signal">): string {
  const name = signal === null ? undefined : clip(cleanLine(clipRaw(signal)), MAX_SIGNAL);
  if (exitCode === null) return name ?? "an unknown exit code";
  return name === undefined ? `exit code ${exitCode}` : `exit code ${exitCode} (${name})`;
}

/**
 * @param worktree that the ended agent leaves behind
 */
export function killedText(reply: KillReply, thread: Typed, worktree?: WorktreeReply): string {
  const hasCode = kindOf(thread).hasExitCode && reply.exitCode !== null;
  const lines = [`⏹ Ended${hasCode ? ` with exit code ${reply.exitCode}` : ""}.`];
  if (reply.survivors > 0) {
    lines.push(`⚠️ ${reply.survivors} of its processes could not be ended and still run on the VM.`);
  }
  if (worktree)
    lines.push(`Its worktree stays, ${worktreeText(worktree)}: \`/thread worktree\` keeps or removes it.`);
  if (reply.summary.trim() !== "")
    lines.push("Last lines:", fenceWithin(reply.summary, clipStart, lines.join("\n")));
  return lines.join("\n");
}

/** On which branch, and what would be lost with it. */
export function worktreeText({ branch, fileCount, commits }: WorktreeReply): string {
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
  return `on ${inlineCode(branch, 200)} (${count(fileCount, "file")} not committed, ${count(commits, "commit")} of its own)`;
}

/** Tells how a worktree was merged. */
export function mergedText({
  into,
  commits,
  isFastForward,
  isCheckedOut,
  rebasedFrom,
  hooks,
}: MergeWorktreeReply): string {
  const was = rebasedFrom?.slice(0, 12);
  if (was !== undefined && commits === 0)
    return `🔀 ${inlineCode(into, 200)} has all that its commits change; the worktree goes on from there (before: ${was}).`;
  const made = was === undefined ? " by a merge commit" : `, rebased (before: ${was})`;
  const how = isFastForward ? "" : made;
  const files = isCheckedOut ? "" : " It is checked out nowhere, so no files have changed.";
  const unrun = hooks.length === 0 ? "" : ` Hooks that were not run: ${hooks.join(", ")}.`;
  return `🔀 ${commits === 1 ? "1 commit is" : `${commits} commits are`} in ${inlineCode(into, 200)} now${how}.${files}${unrun}`;
}

/** What went wrong, for the person who caused it. What is not theirs to know stays out of it. */
export function errorSentence(error: unknown): string {
  if (error instanceof AppError && error.code !== "internal")
    return clipMiddle(cleanLines(error.message), MAX_ERROR).replaceAll("```", "ˋˋˋ");
  return "Something went wrong in the relay; its log says what.";
}

/** How long ago a moment was, by Discord's own clock, which goes on by itself. */
export function formatAgo(at: number): string {
  return `<t:${Math.floor(at / 1_000)}:R>`;
}

export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3_600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

/** The start and the end: a sentence that names something long says what is wrong with it behind the name. */
function clipMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = Math.floor(max / 2);
  return `${clip(text, half)}${clipStart(text, half).slice(1)}`;
}

function clipStart(text: string, max: number): string {
  if (text.length <= max) return text;
  const kept = text.slice(text.length - max + 1);
  return `…${/^[\uDC00-\uDFFF]/.test(kept) ? kept.slice(1) : kept}`;
}

/** A message went in, but for some of its parts. @param missing a sentence that names them */
export function partlyText(missing: string): string {
  return `⚠️ Not all of this went in. ${missing}`;
}

/** How long Discord makes somebody wait for a new thread. */
export function threadWaitText(waitMs: number, now: number): string {
  const at = Math.ceil((now + waitMs) / 1_000);
  return `⏳ Discord allows no new thread here for ${Math.ceil(waitMs / 1_000)} s; yours is made then, <t:${at}:R>.`;
}

/** Tells where the links of a screen lead, which its picture can't. Empty if there is none. */
export function screenLinksText(links: readonly TerminalLink[]): string {
  if (links.length === 0) return "";
  return fenceWithin(links.map(({ text, address }) => `${cleanRow(text)} (${address})`).join("\n"), clip);
}

/** As code within a line; empty code would be two backticks. */
export function inlineCode(text: string, max: number): string {
  return `\`${clip(cleanLine(clipRaw(text)).replaceAll("`", "ˋ"), max) || " "}\``;
}

/** Cuts a text that will become one short line, so that no more is cleaned than can be shown. */
export function clipRaw(text: string): string {
  return clip(text, 4 * MAX_COMMAND);
}

/**
 * A code block that is no longer than a block may be: backticks in it take twice their room.
 * @param head what stands above it
 */
function fenceWithin(text: string, cut: (text: string, max: number) => string, head = ""): string {
  const room = Math.min(MAX_BLOCK_CHARACTERS + 20, MAX_TEXT_CHARACTERS - head.length);
  for (let max = Math.min(text.length, MAX_BLOCK_CHARACTERS); ; max = Math.floor(max * 0.8)) {
    const block = fence(cut(text, max).split("\n"));
    if (block.length <= room) return block;
  }
}

/** The end of a text in a code block, if not all of it has room. @param head what stands above it */
export function fenceEnd(text: string, head: string): string {
  return fenceWithin(text, clipStart, head);
}

export function escapeMarkdown(text: string): string {
  return text.replace(/[\\*_~`|<>#[\]()]/g, "\\$&");
}

/** How a thread is called in an answer that may be read elsewhere. */
export function nameOf({ threadId, number }: Thread): string {
  return `${number === null ? "" : `**#${number}** `}<#${threadId}>`;
}

/** @throws AppError `unsupported` if what the thread's agent writes and does is shown to nobody in Discord */
export function refusePrivate({ voice }: Pick<Thread, "voice">): void {
  if (voice !== "message") return;
  throw new AppError(
    "unsupported",
    "What this agent writes for itself is private: the console and `threadmux tail` show it, Discord does not.",
  );
}

/** @throws AppError `unsupported` if the thread does not work in turns. @param why the second half of a sentence */
export function refuseWithoutTurns(thread: Typed, why: string): void {
  const { hasTurns, name } = kindOf(thread);
  if (!hasTurns) throw new AppError("unsupported", `This thread is ${name}: ${why}.`);
}
