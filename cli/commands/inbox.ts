/** What needs a person, over all agents: open asks, failures, and what came to an end. */
import type { Command } from "commander";
import type { AskReply, InboxItem } from "../../shared/agent/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { MAX_DETAIL_LINES } from "../agents/ask-text.ts";
import { readEnd } from "../agents/transcript.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { argumentOf, nameOf } from "../find-thread.ts";
import { formatDuration } from "../table.ts";
import { describeAsks } from "./asks.ts";

/** How many transcripts are read at a time. */
const AT_ONCE = 8;

/** A turn that came to an end. */
interface Ended extends InboxItem {
  /** What the agent said last. */
  words: string;
}

interface Inbox {
  asks: AskReply[];
  failed: InboxItem[];
  ended: Ended[];
}

export function addInbox(program: Command, act: Act): void {
  program
    .command("inbox")
    .description("what needs you, over all agents: open asks, failures, and turns that have ended")
    .option("--hours <count>", "ended turns of the last so many hours", "24")
    .addHelpText(
      "after",
      examples(
        "threadmux inbox",
        "threadmux inbox --hours 2",
        "threadmux inbox --json | jq '.asks | length'",
      ),
    )
    .action(({ hours }: { hours: string }, command: Command) =>
      act(command, (context) => inbox(context, hours)),
    );
}

async function inbox(context: Context, hours: string): Promise<number> {
  const { out, isJson, note } = context;
  if (!/^\d{1,4}$/.test(hours))
    throw new AppError("invalid_request", "--hours: must be a whole number up to 9999");
  const client = context.client();
  const found = await collect(client, Number(hours));
  if (isJson) {
    await out.json(found);
    return EXIT.ok;
  }
  const threads = found.asks.length > 0 ? await client.listThreads({ status: "open" }) : [];
  const lines = [
    ...describeAsks(found.asks, threads, MAX_DETAIL_LINES),
    ...found.failed.flatMap(describeFailure),
    ...found.ended.flatMap(describeEnd),
  ];
  if (lines.length === 0 && out.isTty) await note("nothing needs you");
  for (const line of lines) await out.line(line);
  return EXIT.ok;
}

async function collect(client: SidecarClient, hours: number): Promise<Inbox> {
  const items = await client.listInbox({ hours });
  const ends = items.filter(({ kind }) => kind === "end");
  const ended: Ended[] = [];
  for (let i = 0; i < ends.length; i += AT_ONCE) {
    const looks = ends
      .slice(i, i + AT_ONCE)
      .map(async (item) => ({ ...item, words: await lastWords(client, item.threadId) }));
    ended.push(...(await Promise.all(looks)));
  }
  const failed = items.filter(({ kind }) => kind === "failure");
  // The inbox tells an ask in a line; here it comes with all that is needed to decide.
  return { asks: await client.listAsks(), failed, ended };
}

/** What the agent itself, not a sub-agent of it, said last in its last turn; empty if it said nothing. */
async function lastWords(client: SidecarClient, threadId: string): Promise<string> {
  const { lines } = await readEnd(client, threadId, (found) =>
    found.some(({ event }) => event?.type === "turn_start"),
  );
  const start = lines.findLastIndex(({ event }) => event?.type === "turn_start");
  const said = lines
    .slice(Math.max(0, start))
    .flatMap(({ event }) =>
      event?.type === "agent_message" && event.parentToolCallId === undefined ? [event.text] : [],
    );
  return said.at(-1) ?? "";
}

function describeFailure(item: InboxItem): string[] {
  return [
    nameLine(item),
    `! ${cleanLine(item.text || "has failed")}`,
    `  → threadmux resume ${argumentOf(item)}`,
    "",
  ];
}

function describeEnd(item: Ended): string[] {
  const how = item.text === "" ? "" : `: ${cleanLine(item.text).replaceAll("_", " ")}`;
  const [words = ""] = item.words.trim().split("\n");
  return [
    nameLine(item),
    `✓ has finished${how}`,
    ...(words === "" ? [] : [`    ${cleanLine(words)}`]),
    `  → threadmux send ${argumentOf(item)}`,
    "",
  ];
}

function nameLine(item: InboxItem): string {
  return `${nameOf(item)} ${cleanLine(item.title)} · ${formatDuration(Date.now() - Date.parse(item.at))}`;
}
