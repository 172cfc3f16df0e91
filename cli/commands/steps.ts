/** What an agent did, step by step. */
import type { Command } from "commander";
import type { Step } from "../../shared/agent/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { parseCount } from "../count.ts";
import { EXIT } from "../exit-codes.ts";
import { findAgent } from "../find-thread.ts";
import { formatDuration, formatTable } from "../table.ts";

const PAGE = 1_000;
/** No transcript has so many events; the API takes 15 digits. */
const BEHIND_ALL = 999_999_999_999_999;
const COLUMNS = [
  { title: "STARTED" },
  { title: "KIND" },
  { title: "STATUS" },
  { title: "TOOK" },
  { title: "TOKENS" },
  { title: "TITLE", minWidth: 20 },
];

export function addSteps(program: Command, act: Act): void {
  program
    .command("steps")
    .description("an agent's steps: turns, calls of the model and of tools, waits for people")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("-n, --lines <count>", "how many of the last; all for all", "50")
    .addHelpText(
      "after",
      examples("threadmux steps 12", "threadmux steps -n all 12 | grep failed", "threadmux steps --json 12"),
    )
    .action((thread: string, { lines }: { lines: string }, command: Command) =>
      act(command, (context) => steps(context, thread, lines)),
    );
}

async function steps(context: Context, wanted: string, lines: string): Promise<number> {
  const { out, isJson } = context;
  const count = parseCount("--lines", lines);
  const client = context.client();
  const { threadId } = await findAgent(client, wanted);
  const found = await lastSteps(client, threadId, count);
  if (isJson) {
    await out.json({ threadId, steps: found });
    return EXIT.ok;
  }
  const rows = found.map(fields);
  if (!out.isTty) for (const row of rows) await out.line(row.join("\t"));
  else for (const line of formatTable(COLUMNS, rows, out.columns)) await out.line(line);
  return EXIT.ok;
}

/** The newest `count`, read backwards, in the order in which they began. */
async function lastSteps(client: SidecarClient, threadId: string, count: number): Promise<Step[]> {
  let last: Step[] = [];
  for (let beforeSeq = BEHIND_ALL; last.length < count; ) {
    const limit = Math.min(PAGE, count - last.length);
    const page = await client.listSteps(threadId, { beforeSeq, limit });
    last = [...page, ...last];
    const [first] = page;
    if (!first || page.length < limit) break;
    beforeSeq = first.seq;
  }
  return last;
}

function fields(step: Step): string[] {
  const { startedAt, kind, status, reason, durationMs, tokens, title } = step;
  return [
    startedAt?.slice(0, 19).replace("T", " ") ?? "",
    kind,
    reason === null || reason === status || status === "completed" ? status : `${status}: ${reason}`,
    durationMs === null ? "" : formatDuration(durationMs),
    tokens === null ? "" : String(tokens),
    cleanLine(title ?? ""),
  ];
}
