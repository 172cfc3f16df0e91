/** Jobs: work that begins by itself. */
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import type { HookTestReply } from "../../shared/jobs/api.ts";
import type { Job, JobRun } from "../../shared/jobs/job.ts";
import { jobs } from "../../shared/protocol/jobs.ts";
import { collect } from "../agents/config.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { type AddOptions, jobRequest, nameOptions } from "../jobs/request.ts";
import { formatDuration, formatTable } from "../table.ts";

const NAME = "its name";
const COLUMNS = [
  ...[
    { title: "NAME" },
    { title: "STATE" },
    { title: "NEXT" },
    { title: "IN" },
    { title: "LAST", minWidth: 6 },
  ],
  ...[{ title: "TODAY" }, { title: "WHAT", minWidth: 12 }],
];
const RUN_COLUMNS = [
  ...[{ title: "DUE" }, { title: "STATUS" }, { title: "TOOK" }, { title: "COST" }],
  ...[{ title: "THREAD" }, { title: "WHY", minWidth: 12 }],
];

export function addJob(program: Command, act: Act): void {
  const job = program
    .command("job")
    .description("work that begins by itself: at an instant, each so many minutes, or by a cron expression")
    .addHelpText(
      "after",
      examples(
        'threadmux job add nightly --cron "0 9 * * 1-5" --zone Europe/Berlin --agent "look at the build" --dir shop',
        "threadmux job list",
        "threadmux job history nightly",
      ),
    );
  addAdd(job, act);
  job
    .command("list")
    .alias("ls")
    .description("which there are, and when each is due next")
    .action((_options: object, command: Command) => act(command, list));
  const simple = (name: string, about: string, work: (context: Context, job: string) => Promise<number>) =>
    job
      .command(name)
      .description(about)
      .argument("<job>", NAME)
      .action((wanted: string, _options: object, command: Command) =>
        act(command, (context) => work(context, wanted)),
      );
  simple("run", "run it now, beside its schedule; prints the run's name", run);
  simple("pause", "nothing is due until it is resumed", (context, wanted) =>
    change(context, jobs.pause, wanted),
  );
  simple("resume", "go on; what was due meanwhile is not run", (context, wanted) =>
    change(context, jobs.resume, wanted),
  );
  simple("remove", "remove it and the rows of its runs; their threads stay", remove);
  job
    .command("history")
    .description("its runs, the newest first, and why each did not begin or failed")
    .argument("<job>", NAME)
    .option("--limit <count>", "so many at most", "20")
    .option("--output", "with what each command printed")
    .action((wanted: string, options: { limit: string; output?: boolean }, command: Command) =>
      act(command, (context) => history(context, wanted, options)),
    );
}

function addAdd(job: Command, act: Act): void {
  job
    .command("add")
    .description("make one: when it is due, and what it starts")
    .argument("<name>", "a-z, 0-9 and -; its runs and their threads are called so too")
    .option("--when <words>", "every 30m, every weekday at 9, at 17:00, at 2027-01-05 09:00, in 20m")
    .option("--cron <fields>", "five fields: minute hour day-of-month month day-of-week")
    .option("--every <duration>", "such as 30m, 2h or 1d, counted from now")
    .option("--at <time>", "once: 17:00, or 2027-01-05 09:00")
    .option("--in <duration>", "once: such as 20m")
    .option("--on <events>", 'when this happens: "turn_end of 12", "thread_status"')
    .option("--zone <name>", "of the times, such as Europe/Berlin (the sidecar's machine's)")
    .option("--agent <prompt>", "start an agent")
    .option("--terminal <command>", "start a terminal")
    .option("--command <command>", "run a command without a terminal; its output is the run's report")
    .option(
      "--input <text>",
      "send this to a thread (--thread), or to the agent that hears channels (--main)",
    )
    .option("--dir <dir>", "where it works, below REPOS_DIR", ".")
    .option(
      "--thread <thread>",
      "of --input: the thread; of --agent: one, for one thread that all runs go on with",
    )
    .option("--main <name>", "of --input: the name of the agent that hears channels, such as main")
    .option("--discord", "each thread has one in Discord too")
    .option("--as <directive>", "of an agent: the directive that it is made by; `directives` lists them")
    .option("--with <name=value>", "an input of that directive; may be given again", collect)
    .option("--model <name>", "of an agent: its model")
    .option("--engine <name>", "of an agent: its engine")
    .option("--mode <mode>", "of an agent: its permission mode: plan, acceptEdits, …")
    .option("--worktree", "an agent works in a git worktree of its own")
    .option("--max-usd <dollars>", "of a run; none: no limit (1)")
    .option("--max-seconds <count>", "of a run; none: no limit (600)")
    .option("--max-calls <count>", "of a run: calls of the model; none: no limit (40)")
    .option("--max-usd-per-day <dollars>", "of all runs of a day; none: no limit (5)")
    .option("--check <command>", "run before an agent or input: if it prints nothing, there is nothing to do")
    .option("--missed <what>", "due while the sidecar was down: once, skip, or ask")
    .option("--overlap <what>", "due while a run goes on: skip (the default) or allow")
    .option("--idle-only", "of --input: not while its thread has a turn")
    .option("--heartbeat", "its agent reports whether all is well; nothing runs while HEARTBEAT.md is empty")
    .option("--hours <from-to>", "what is due outside of them is skipped, such as 08:00-22:00")
    .option("--report <channel>", "the id of the Discord channel that is told outputs, pauses and reports")
    .option("--expires <instant>", "nothing is due from then on, such as 2027-06-01T00:00Z")
    .addHelpText(
      "after",
      examples(
        'threadmux job add nightly --cron "0 9 * * 1-5" --zone Europe/Berlin --agent "look at the build" --dir shop',
        'threadmux job add report --when "every monday at 9" --agent "which dependencies are old?" --max-usd 0.50',
        'threadmux job add review --when "every weekday at 9" --agent "what changed?" --as reviewer --with depth=full --dir shop',
        "threadmux job add backup --every 6h --command ./backup.sh --dir shop",
        'threadmux job add nudge --in 20m --input "how far are you?" --thread 12',
        'threadmux job add morning --when "every weekday at 9" --input "what is new?" --main main',
      ),
    )
    .action((name: string, options: AddOptions, command: Command) =>
      act(command, (context) => add(context, name, options)),
    );
}

async function add(context: Context, name: string, options: AddOptions): Promise<number> {
  const client = context.client();
  const request = await jobRequest(client, name, options);
  const made = await nameOptions(client.call(jobs.create, {}, { body: request }), options);
  if (context.isJson) await context.out.json(made);
  else {
    const { words } = await client
      .call(jobs.preview, {}, { body: { when: made.when } })
      .catch(() => ({ words: "" }));
    await context.out.line(`${made.name}: ${words}`);
    for (const line of unlimited(made)) await context.note(line);
  }
  return EXIT.ok;
}

/** No limit is a choice that is said aloud. */
function unlimited({ limits, what }: Job): string[] {
  if (!("prompt" in what)) return [];
  const none = [
    limits.spendUsd === null && limits.spendUsdPerDay === null
      ? "as much as it does: neither a run nor a day has a limit"
      : "",
    limits.spendUsd !== null && limits.spendUsdPerDay === null ? "no limit for a day, only for each run" : "",
  ];
  return none.filter((line) => line !== "").map((line) => `costs: ${line}`);
}

async function list({ client, out, note, isJson }: Context): Promise<number> {
  const { jobs: all } = await client().call(jobs.list, {});
  if (isJson) await out.json({ jobs: all });
  else if (!out.isTty) for (const job of all) await out.line(fields(job).join("\t"));
  else if (all.length === 0) await note("no jobs; threadmux job add --help says how to make one");
  else for (const line of formatTable(COLUMNS, all.map(fields), out.columns)) await out.line(line);
  return EXIT.ok;
}

async function run(context: Context, job: string): Promise<number> {
  const reply = await context.client().call(jobs.run, { job });
  if (context.isJson) await context.out.json(reply);
  else await context.out.line(reply.run);
  return EXIT.ok;
}

async function change(
  context: Context,
  route: typeof jobs.pause | typeof jobs.resume,
  name: string,
): Promise<number> {
  const job = await context.client().call(route, { job: name });
  if (context.isJson) await context.out.json(job);
  else await context.out.line(fields(job).join("\t"));
  return EXIT.ok;
}

/** Has the sidecar send a signed example to a job's hook. @returns what the door answers */
export function testHook(
  client: SidecarClient,
  job: string,
  body: { body?: string },
): Promise<HookTestReply> {
  return client.call(jobs.testHook, { job }, { body });
}

async function remove(context: Context, job: string): Promise<number> {
  const client: SidecarClient = context.client();
  await client.call(jobs.remove, { job });
  if (context.isJson) await context.out.json({ removed: true, job });
  return EXIT.ok;
}

async function history(
  { client, out, note, isJson }: Context,
  job: string,
  { limit, output }: { limit: string; output?: boolean },
): Promise<number> {
  if (!/^\d{1,3}$/.test(limit))
    throw new AppError("invalid_request", "--limit: must be a number from 1 to 500");
  const { runs } = await client().call(jobs.listRuns, { job }, { query: { limit } });
  if (isJson) await out.json({ runs });
  else if (output)
    for (const one of runs) await out.line(`${runFields(one).join("\t")}\n${one.output ?? ""}`.trimEnd());
  else if (!out.isTty) for (const one of runs) await out.line(runFields(one).join("\t"));
  else if (runs.length === 0) await note("no runs yet");
  else for (const line of formatTable(RUN_COLUMNS, runs.map(runFields), out.columns)) await out.line(line);
  return EXIT.ok;
}

function fields({ name, state, next, lastRun, spentTodayUsd, what, why }: Job): string[] {
  const [first] = next;
  const does = "prompt" in what ? what.prompt : "text" in what ? what.text : what.command;
  const directive = "prompt" in what ? what.agent?.directive : undefined;
  const cells = [
    ...[name, state, first === undefined ? "" : localTime(first)],
    first === undefined ? "" : formatDuration(Date.parse(first) - Date.now()),
    lastRun?.status ?? "",
    spentTodayUsd === 0 ? "" : `$${spentTodayUsd.toFixed(2)}`,
    why ?? `${what.type}${directive === undefined ? "" : ` as ${directive}`}: ${does}`,
  ];
  return cells.map((cell) => cleanLine(cell).trim());
}

function runFields({
  dueAt,
  claimedAt,
  endedAt,
  status,
  costUsd,
  threadId,
  reason,
  missed,
  by,
}: JobRun): string[] {
  const took =
    endedAt === null ? Date.now() - Date.parse(claimedAt) : Date.parse(endedAt) - Date.parse(claimedAt);
  const more = missed > 0 ? `${missed} before it were missed` : "";
  const cells = [
    localTime(dueAt ?? claimedAt),
    ...[status, formatDuration(took), costUsd === null ? "" : `$${costUsd.toFixed(2)}`, threadId ?? ""],
    [dueAt === null ? `by ${by}` : "", reason ?? "", more].filter((part) => part !== "").join("; "),
  ];
  return cells.map((cell) => cleanLine(cell).trim());
}

/** `2027-01-05 09:00`, of this machine. */
function localTime(iso: string): string {
  const at = new Date(iso);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}
