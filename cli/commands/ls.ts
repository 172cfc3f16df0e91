import { type Command, Option } from "commander";
import { isAtRest } from "../../shared/agent/files.ts";
import type { Thread } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import { threadTree } from "../../shared/thread-tree.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { nameOf } from "../find-thread.ts";
import { formatDuration, formatTable } from "../table.ts";
import { describeTurn } from "../turn-text.ts";

const STATUS = new Option("-s, --status <which>", "which threads")
  .choices(["open", "ended", "all"])
  .default("open");
const COLUMNS = [
  { title: "ID" },
  { title: "TITLE", minWidth: 12 },
  { title: "TYPE" },
  { title: "STATUS" },
  { title: "DIR", minWidth: 6 },
  { title: "UPTIME" },
  { title: "TURN" },
  { title: "COMMAND", minWidth: 8 },
];
const TITLE_COLUMN = 1;
const STATUS_COLUMN = 3;

export function addLs(program: Command, act: Act): void {
  program
    .command("ls")
    .description("list threads; for a person as a table, in a pipe as lines of fields with tabs between")
    .addOption(STATUS)
    .addHelpText(
      "after",
      examples(
        "threadmux ls",
        "threadmux ls --status all",
        "threadmux ls | cut -f1                  the ids alone",
        "threadmux ls --json | jq '.threads[].threadId'",
      ),
    )
    .action(({ status }: { status: "open" | "ended" | "all" }, command: Command) =>
      act(command, (context) => ls(context, status)),
    );
}

async function ls({ client, out, note, isJson }: Context, status: "open" | "ended" | "all"): Promise<number> {
  const threads = await client().listThreads({ status });
  if (isJson) {
    await out.json({ threads });
    return EXIT.ok;
  }
  const now = Date.now();
  if (!out.isTty) {
    for (const thread of threads) await out.line(fields(thread, now).join("\t"));
    return EXIT.ok;
  }
  if (threads.length === 0) {
    await note(status === "all" ? "no threads" : `no ${status} threads`);
    return EXIT.ok;
  }
  const tree = threadTree(threads);
  const rows = tree.map(({ thread, depth }) => fields(thread, now, depth));
  const style = (cell: string, row: number, column: number) => {
    if (!out.hasColor) return cell;
    if (row === 0) return `\x1b[1m${cell}\x1b[0m`;
    const thread = tree[row - 1]?.thread;
    return column === STATUS_COLUMN && thread ? `${colorOf(thread)}${cell}\x1b[0m` : cell;
  };
  for (const line of formatTable(COLUMNS, rows, out.columns, style)) await out.line(line);
  return EXIT.ok;
}

/** @param depth of a person's table: how many threads it stands below */
function fields(thread: Thread, now: number, depth = 0): string[] {
  const end = thread.endedAt === null || isAtRest(thread.status) ? now : Date.parse(thread.endedAt);
  const uptime = formatDuration(end - Date.parse(thread.createdAt));
  const { threadId, number, type, dir, command, origin } = thread;
  const from = origin && ` (from ${nameOf(origin)})`;
  const title = number === null ? thread.title : `#${number} ${thread.title}${from ?? ""}`;
  const below = depth === 0 ? "" : `${"  ".repeat(depth - 1)}└ `;
  const turn = describeTurn(thread, now) ?? "";
  const shown = [threadId, title, type, describeStatus(thread), dir, uptime, turn, command];
  return shown.map((field, i) => (i === TITLE_COLUMN ? below : "") + cleanLine(field).trim());
}

function describeStatus({ status, exitCode, waiting }: Thread): string {
  if (status === "exited") return exitCode === null ? "exited" : `exited ${exitCode}`;
  return waiting > 0 ? `${status} +${waiting}` : status;
}

function colorOf({ status, exitCode }: Thread): string {
  switch (status) {
    case "running":
      return "\x1b[32m";
    case "idle":
    case "completed":
    case "queued":
    case "locked":
      return "\x1b[36m";
    case "waiting":
    case "paused":
      return "\x1b[33m";
    case "exited":
      return exitCode === 0 ? "\x1b[2m" : "\x1b[31m";
    case "killed":
      return "\x1b[2m";
    case "failed":
    case "lost":
      return "\x1b[31m";
  }
}
