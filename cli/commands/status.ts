import type { Command } from "commander";
import type { Thread } from "../../shared/api.ts";
import { formatUse } from "../../shared/budget.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { HealthReply } from "../../shared/machine-api.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread, nameOf } from "../find-thread.ts";
import { formatDuration } from "../table.ts";
import { describeTurn } from "../turn-text.ts";

export function addStatus(program: Command, act: Act): void {
  program
    .command("status")
    .alias("health")
    .description(
      "whether the sidecar and its tmux are well, for which no token is needed; or all about one thread",
    )
    .argument("[thread]", THREAD_ARGUMENT)
    .addHelpText("after", examples("threadmux status", "threadmux status shop", "threadmux health --json"))
    .action((thread: string | undefined, _options: unknown, command: Command) =>
      act(command, (context) => (thread === undefined ? health(context) : details(context, thread))),
    );
}

async function health({ openClient, settings, out, isJson }: Context): Promise<number> {
  const reply = await openClient().getHealth();
  if (isJson) {
    await out.json(reply);
  } else {
    const { up, version, downForSeconds } = reply.tmux;
    const tmux = up ? (version ?? "up") : `down for ${downForSeconds ?? 0} s`;
    await printFields(out, [
      ["sidecar", `${reply.ok ? "ok" : "not well"}, version ${reply.version}, at ${settings.url}`],
      ["up for", formatDuration(reply.uptimeSeconds * 1_000)],
      ["tmux", tmux],
      ...(reply.jobs && !reply.jobs.ok ? [["jobs", overdueText(reply.jobs)] as const] : []),
    ]);
  }
  return reply.ok ? EXIT.ok : EXIT.unavailable;
}

async function details({ client, out, isJson }: Context, wanted: string): Promise<number> {
  const thread = await findThread(client(), wanted);
  if (isJson) {
    await out.json(thread);
    return EXIT.ok;
  }
  const turn = describeTurn(thread, Date.now());
  await printFields(out, [
    ["thread", thread.threadId],
    ["title", thread.title],
    ...(thread.number === null ? [] : [["number", `#${thread.number}`] as const]),
    ["type", thread.type],
    ...(thread.engine ? [["engine", thread.engine] as const] : []),
    [
      "status",
      thread.awaiting === null ? thread.status : `${thread.status} for an answer: ${thread.awaiting}`,
    ],
    ...(turn === undefined ? [] : [["turn", turn] as const]),
    ...(thread.doing === null ? [] : [["doing", thread.doing] as const]),
    ...(thread.problem === null ? [] : [["problem", thread.problem] as const]),
    ...(thread.origin === null ? [] : [["origin", originOf(thread.origin)] as const]),
    ["dir", thread.dir],
    ["command", thread.command],
    ["created", `${thread.createdAt} by ${thread.createdBy}`],
    ...(thread.endedAt === null ? [] : [["ended", thread.endedAt] as const]),
    ...(thread.exitCode === null ? [] : [["exit code", String(thread.exitCode)] as const]),
    ...(thread.signal === null ? [] : [["signal", thread.signal] as const]),
    ["output", `${thread.offset} bytes, ${thread.logBytes} on disk`],
    ["size", `${thread.cols}x${thread.rows}${heldSmall(thread)}`],
    ...(thread.budget ? [["budget", formatUse(thread.budget)] as const] : []),
    ...(thread.waiting === 0 ? [] : [["waiting", String(thread.waiting)] as const]),
  ]);
  return EXIT.ok;
}

function overdueText({ overdue, names = [] }: NonNullable<HealthReply["jobs"]>): string {
  const more = names.length < overdue && names.length > 0 ? ", …" : "";
  return `${overdue} overdue${names.length > 0 ? `: ${names.join(", ")}${more}` : ""}`;
}

function originOf(origin: NonNullable<Thread["origin"]>): string {
  return `${nameOf(origin)} at event ${origin.seq}`;
}

function heldSmall({ heldSmallUntil }: Thread): string {
  if (heldSmallUntil === null || Date.parse(heldSmallUntil) <= Date.now()) return "";
  return `, held small until ${heldSmallUntil}: what it printed kept all threads waiting`;
}

async function printFields(
  out: Context["out"],
  fields: readonly (readonly [string, string])[],
): Promise<void> {
  for (const [name, value] of fields) await out.line(`${name.padEnd(10)} ${cleanLine(value)}`);
}
