/** The agent that hears a channel, as `/main` tells it. Pure. */
import { cleanLine } from "../../../shared/clean-text.ts";
import { findDiscordMessage, type MainStatus } from "../../../shared/voice-api.ts";
import { inlineCode } from "../texts.ts";
import { fitLines } from "./lines.ts";

const MAX_WORDS = 200;

/** @param guildId of the server, for links; undefined if nobody knows it */
export function mainText(main: MainStatus, guildId: string | undefined): string {
  const { dir, costTodayUsd, childrenTodayUsd, waiting, unanswered, unansweredCount } = main;
  const facts = [
    `📁 ${code(dir)}`,
    `$${costTodayUsd.toFixed(2)} today`,
    ...(childrenTodayUsd === 0 ? [] : [`its children $${childrenTodayUsd.toFixed(2)}`]),
    ...(waiting === 0 ? [] : [`${waiting} not read yet`]),
    unansweredCount === 0 ? "nothing unanswered" : `${unansweredCount} unanswered`,
  ];
  const lines = unanswered.map((one) => unansweredLine(one, guildId));
  return fitLines([hearsText(main), stateText(main), facts.join(" · ")].join("\n"), lines);
}

/** Which channels it hears, and who can learn what by that. */
export function hearsText({ name, number, channels }: MainStatus): string {
  const called = number === null ? code(name) : `${code(name)} (#${number})`;
  const places = channels.map(({ id }) => `<#${id}>`).join(" ");
  const learns = "whoever writes in one of them can learn what was said in the others";
  return channels.length < 2 ? `🎧 ${called} hears ${places}.` : `🎧 ${called} hears ${places}: ${learns}.`;
}

function stateText({ status, doing, problem, openAsks }: MainStatus): string {
  const asks = openAsks === 0 ? "" : ` · ${openAsks} of its questions open`;
  return `${stateOf({ status, doing, problem })}${asks}`;
}

function stateOf({ status, doing, problem }: Pick<MainStatus, "status" | "doing" | "problem">): string {
  switch (status) {
    case null:
      return "▫️ Nobody has written to it yet: the first message makes it.";
    case "running":
      return doing === null ? "▶️ It is at work" : `▶️ It is at work: ${code(doing)}`;
    case "waiting":
      return "❓ It waits for an answer";
    case "paused":
      return "⏸ It is held; `/main resume` lets it go on";
    case "queued":
      return doing === null ? "⏳ It waits for a free place" : `⏳ ${code(doing)}`;
    case "idle":
      return "💤 It rests; the next message wakes it";
    case "killed":
    case "lost":
      return "⏹ Its thread was ended. `/here mode:off` and `/here mode:main`: the next message begins another one";
    default:
      return problem === null ? `⚠️ ${status}` : `⚠️ It can't go on: ${code(problem)}`;
  }
}

function unansweredLine(
  { inputId, channelId, handle, at, isRead }: MainStatus["unanswered"][number],
  guildId: string | undefined,
): string {
  const messageId = findDiscordMessage(inputId);
  const link =
    messageId === null || guildId === undefined
      ? `<#${channelId}>`
      : `https://discord.com/channels/${guildId}/${channelId}/${messageId}`;
  const when = `<t:${Math.floor(Date.parse(at) / 1_000)}:R>`;
  return `- ${code(handle)} ${when} ${link}${isRead ? "" : ", not read yet"}`;
}

function code(text: string): string {
  return inlineCode(cleanLine(text), MAX_WORDS);
}
