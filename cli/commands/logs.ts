/** Threads that follow logs: what is there, a thread for one, and what it shows. */
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { type FollowRequest, followRequestSchema, type ViewRequest } from "../../shared/follow-api.ts";
import { logs } from "../../shared/protocol/logs.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { parseCount } from "../count.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { CLI_KINDS } from "../kinds/kinds.ts";
import { makeId } from "../new-id.ts";
import { tail } from "./tail.ts";

interface LogsOptions {
  grep?: string;
  lines?: string;
  id?: string;
  title?: string;
  follow?: boolean;
}

interface ViewOptions {
  pause?: boolean;
  resume?: boolean;
  grep?: string;
  all?: boolean;
}

export function addLogs(program: Command, act: Act): void {
  program
    .command("logs")
    .summary("open a thread that follows logs and print its id")
    .description(
      "open a thread that follows logs and print its id; without a service, list what is there. A service is a file or a quoted glob from the directory on, docker:NAME, unit:NAME, or journal",
    )
    .argument("<dir>", "the directory, below REPOS_DIR")
    .argument("[service]", "what to follow")
    .option("--grep <text>", "only lines that hold it")
    .option("--lines <count>", "begin with so many of the last lines (50)")
    .option("--id <id>", "the thread's id (otherwise made from the directory's name)")
    .option("--title <text>", "what people call it")
    .option("-f, --follow", "print it until it ends")
    .addHelpText(
      "after",
      examples(
        "threadmux logs shop",
        "threadmux logs shop 'log/*.log' --grep ERROR -f",
        "threadmux logs . docker:web",
        "threadmux logs . unit:nginx --lines 200",
      ),
    )
    .action((dir: string, service: string | undefined, options: LogsOptions, command: Command) =>
      act(command, (context) =>
        service === undefined ? list(context, dir) : follow(context, { dir, service, ...options }),
      ),
    );
  program
    .command("view")
    .description("what a thread that follows logs shows: hold it, or only lines that hold a text")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--pause", "hold what is shown; what comes is kept")
    .option("--resume", "show what came, and go on")
    .option("--grep <text>", "only lines that hold it, from the last ones on")
    .option("--all", "all lines")
    .addHelpText(
      "after",
      examples("threadmux view shop --pause", "threadmux view shop --resume --grep ERROR"),
    )
    .action((thread: string, options: ViewOptions, command: Command) =>
      act(command, (context) => setView(context, thread, options)),
    );
}

async function list({ client, out, isJson }: Context, dir: string): Promise<number> {
  const { services } = await client().call(logs.listServices, {}, { query: { dir } });
  if (isJson) await out.json({ services });
  else for (const service of services) await out.line(out.isTty ? cleanLine(service) : service);
  return EXIT.ok;
}

async function follow(
  context: Context,
  {
    dir,
    service,
    id,
    title,
    grep,
    lines,
    follow: isFollowed,
  }: LogsOptions & { dir: string; service: string },
): Promise<number> {
  const body = checkRequest({
    ...{ dir, service },
    threadId: id ?? makeId(dir),
    ...(title !== undefined && { title }),
    ...(grep !== undefined && { grep }),
    ...(lines !== undefined && { lines: parseCount("--lines", lines) }),
  });
  const { threadId } = body;
  const reply = await context.client().call(logs.create, {}, { body });
  if (isFollowed) {
    await context.note(`thread ${threadId}`);
    return tail(context, CLI_KINDS, threadId, { follow: true, lines: "all" });
  }
  if (context.isJson) await context.out.json({ ...reply, threadId });
  else await context.out.line(threadId);
  return EXIT.ok;
}

const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...{ threadId: "--id", title: "--title", grep: "--grep", lines: "--lines" },
};

/** @throws AppError `invalid_request` naming the options that are wrong. */
function checkRequest(request: FollowRequest): FollowRequest {
  const parsed = followRequestSchema.safeParse(request);
  if (parsed.success) return request;
  const problems = parsed.error.issues.map(({ path: [field = ""], message }) => {
    return `${OPTION_NAMES[String(field)] ?? String(field)}: ${message}`;
  });
  throw new AppError("invalid_request", [...new Set(problems)].join("; "));
}

async function setView(context: Context, wanted: string, options: ViewOptions): Promise<number> {
  const { pause, resume, grep, all } = options;
  if (pause && resume) throw new AppError("invalid_request", "--pause: not together with --resume");
  if (grep !== undefined && all) throw new AppError("invalid_request", "--grep: not together with --all");
  const body: ViewRequest = {
    ...((pause || resume) && { paused: pause === true }),
    ...(all && { grep: null }),
    ...(grep !== undefined && { grep }),
  };
  const client = context.client();
  const { threadId } = await findThread(client, wanted);
  const view = await client.call(logs.setView, { id: threadId }, { body });
  if (context.isJson) await context.out.json({ threadId, ...view });
  else if (Object.keys(body).length === 0) {
    const lines = view.grep === null ? "all lines" : `lines that hold ${JSON.stringify(view.grep)}`;
    await context.out.line(`${view.paused ? "paused" : "goes on"}, ${lines}`);
  }
  return EXIT.ok;
}
