/** Jobs and their runs as lines for Discord. Pure. */
import { cleanLine } from "../../../shared/clean-text.ts";
import type { DiscordId } from "../../../shared/ids.ts";
import type { Job, JobRun, RunStatus } from "../../../shared/jobs/job.ts";
import type { JobNews, JobNewsKind } from "../../../shared/jobs/news.ts";
import { findDiscordId } from "../../../shared/principal.ts";
import { escapeMarkdown, fenceEnd, inlineCode } from "../texts.ts";

const MAX_WORDS = 80;
const MAX_SOON = 8;
const MARKS: Record<RunStatus, string> = {
  claimed: "⏳",
  started: "▶️",
  done: "✅",
  failed: "❌",
  skipped: "⏭",
  missed: "💤",
  unknown: "❔",
};

/** When it is due next, in the reader's own zone. */
export function nextText({ next: [first] }: Pick<Job, "next">): string {
  return first === undefined ? "" : `${stamp(first, "f")}, ${stamp(first, "R")}`;
}

export function jobLine(job: Job): string {
  const { name, state, why, lastRun, spentTodayUsd } = job;
  const parts = [
    `${state === "active" ? "⏰" : state === "paused" ? "⏸" : "▫️"} **${escapeMarkdown(name)}**`,
    why === null ? nextText(job) : plain(why),
    inlineCode(doesText(job), MAX_WORDS),
    lastRun ? `last ${MARKS[lastRun.status]} ${lastRun.status}` : "",
    spentTodayUsd > 0 ? `$${spentTodayUsd.toFixed(2)} today` : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

const SOON_MS = 3_600_000;

/** Those that are due within the hour, in a line; none if none is. */
export function soonLine(jobs: readonly Job[], nowMs: number): string[] {
  const soon = jobs.filter(({ next: [first] }) => first !== undefined && Date.parse(first) - nowMs < SOON_MS);
  if (soon.length === 0) return [];
  const [shown, more] = [soon.slice(0, MAX_SOON), soon.length - MAX_SOON];
  const names = shown.map(
    ({ name, next: [first = ""] }) => `**${escapeMarkdown(name)}** ${stamp(first, "R")}`,
  );
  return [`⏰ Due within the hour: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
}

/** What it starts, in a word and its own. */
export function doesText({ what }: Pick<Job, "what">): string {
  const words = "prompt" in what ? what.prompt : "text" in what ? what.text : what.command;
  const directive = "prompt" in what ? what.agent?.directive : undefined;
  return cleanLine(`${what.type}${directive === undefined ? "" : ` as ${directive}`}: ${words}`);
}

/** @param place the run's Discord thread, if it has one */
export function runLine(run: JobRun, place: DiscordId | undefined): string {
  const { status, dueAt, claimedAt, reason, costUsd, missed, by } = run;
  const maker = findDiscordId(by);
  const parts = [
    `${MARKS[status]} ${stamp(dueAt ?? claimedAt, "f")} ${status}`,
    place === undefined ? "" : `<#${place}>`,
    dueAt === null && maker !== undefined ? `by <@${maker}>` : "",
    costUsd === null ? "" : `$${costUsd.toFixed(2)}`,
    reason === null ? "" : plain(reason),
    missed === 0 ? "" : `${missed} before it were missed`,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function plain(text: string): string {
  return escapeMarkdown(cleanLine(text)).slice(0, 300);
}

function stamp(iso: string, form: "f" | "R"): string {
  return `<t:${Math.floor(Date.parse(iso) / 1_000)}:${form}>`;
}

const NEWS: Record<JobNewsKind, string> = {
  output: "📋 **NAME** has printed:",
  failed: "❌ **NAME** failed",
  paused: "⏸ **NAME** is paused",
  missed: "💤 **NAME** did not run",
  cap: "💰 **NAME** does not run any more today",
  report: "📋 **NAME** reports",
  chain: "🔁 **NAME** was not started again",
  asks: "❓ **NAME**",
  more: "",
};

/** A piece of news of a job, as the channel is told it. */
export function newsText({ job, kind, text, output, count }: JobNews): string {
  if (kind === "more") return moreNewsText(count);
  const head = (NEWS[kind] ?? NEWS.report).replace("NAME", () => escapeMarkdown(job));
  const said = text === "" ? head : `${head}: ${plain(text)}`;
  return output === null ? said : `${said}\n${fenceEnd(output.trimEnd(), said)}`;
}

/** The line that stands for the oldest news if too much came while the relay was away. */
function moreNewsText(count: number): string {
  return `📋 ${count} more news of jobs came before these; /job history has what became of each run.`;
}
