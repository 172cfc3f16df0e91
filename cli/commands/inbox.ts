/** What needs a person, over all agents: open asks, failures, and what came to an end. */
import type { Command } from "commander";
import type { AskReply } from "../../shared/agent/api.ts";
import type { EventOf, EventType, ThreadEvent } from "../../shared/agent/events.ts";
import type { Thread } from "../../shared/api.ts";
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

/** So many agents are looked at, the newest; older ones show in `ls`. */
const MAX_AGENTS = 200;
const AT_ONCE = 8;
const HOUR_MS = 3_600_000;

/** An agent that failed, or whose turn came to an end. */
interface Rest {
  threadId: string;
  number: number | null;
  title: string;
  at: string;
  /** Why it failed, or how the turn ended. */
  reason: string;
  /** What it said last. */
  words: string;
}

interface Inbox {
  asks: AskReply[];
  failed: Rest[];
  ended: Rest[];
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
  if (!/^\d{1,5}$/.test(hours)) throw new AppError("invalid_request", "--hours: must be a whole number");
  const client = context.client();
  const threads = await client.listThreads({ status: "open" });
  const found = await collect(client, threads, Date.now() - Number(hours) * HOUR_MS);
  if (isJson) {
    await out.json(found);
    return EXIT.ok;
  }
  const lines = [
    ...describeAsks(found.asks, threads, MAX_DETAIL_LINES),
    ...found.failed.flatMap((rest) => describeRest(rest, "!", "threadmux resume")),
    ...found.ended.flatMap((rest) => describeRest(rest, "✓", "threadmux send")),
  ];
  if (lines.length === 0 && out.isTty) await note("nothing needs you");
  for (const line of lines) await out.line(line);
  return EXIT.ok;
}

async function collect(client: SidecarClient, threads: readonly Thread[], sinceMs: number): Promise<Inbox> {
  const agents = threads
    .filter(({ type, status }) => type === "agent" && (status === "failed" || status === "idle"))
    .sort((a, b) => (b.number ?? 0) - (a.number ?? 0))
    .slice(0, MAX_AGENTS);
  const failed: Rest[] = [];
  const ended: Rest[] = [];
  for (let i = 0; i < agents.length; i += AT_ONCE) {
    const looks = agents.slice(i, i + AT_ONCE).map(async (thread) => {
      const rest = await restOf(client, thread);
      if (thread.status === "failed") failed.push(rest);
      else if (Date.parse(rest.at) >= sinceMs) ended.push(rest);
    });
    await Promise.all(looks);
  }
  const byTime = (a: Rest, b: Rest) => (a.at < b.at ? -1 : 1);
  return { asks: await client.listAsks(), failed: failed.sort(byTime), ended: ended.sort(byTime) };
}

/** How an agent came to rest, as the end of its transcript tells. */
async function restOf(client: SidecarClient, thread: Thread): Promise<Rest> {
  const { threadId, number, title, createdAt, problem, status } = thread;
  const { lines } = await readEnd(client, threadId, (found) =>
    found.some(({ event }) => event?.type === "turn_start"),
  );
  const events = lines.flatMap(({ event }) => event ?? []);
  const failure = status === "failed" ? lastOf(events, "failure") : undefined;
  const end = lastOf(events, "turn_end");
  const how = end?.error ?? end?.stopReason.replaceAll("_", " ") ?? "";
  return {
    threadId,
    number,
    title,
    at: (failure ?? end)?.ts ?? createdAt,
    reason: problem ?? failure?.message ?? how,
    words: lastOf(events, "agent_message")?.text ?? "",
  };
}

function lastOf<T extends EventType>(events: readonly ThreadEvent[], type: T): EventOf<T> | undefined {
  return events.findLast((event): event is EventOf<T> => event.type === type);
}

function describeRest(rest: Rest, mark: string, command: string): string[] {
  const name = nameOf(rest);
  const age = formatDuration(Date.now() - Date.parse(rest.at));
  const [words = ""] = rest.words.trim().split("\n");
  return [
    `${name} ${cleanLine(rest.title)} · ${age}`,
    `${mark} ${cleanLine(rest.reason)}`,
    ...(words === "" ? [] : [`    ${cleanLine(words)}`]),
    `  → ${command} ${argumentOf(rest)}`,
    "",
  ];
}
