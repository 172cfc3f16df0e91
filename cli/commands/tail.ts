import type { Command } from "commander";
import type { OutputReply, Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { tailAgent } from "../agents/tail.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { parseCount } from "../count.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { createLineSkipper, findStart, follow, readUntil } from "../follow.ts";
import { onLeave } from "../leave.ts";
import { drawingOnly, plainText, rawText, type TextFilter } from "../terminal-text.ts";

export interface TailOptions {
  follow?: boolean;
  /** A number, or `all`. */
  lines: string;
  text?: boolean;
}

export function addTail(program: Command, act: Act): void {
  program
    .command("tail")
    .summary("print the end of a thread's output; of an agent, of its conversation")
    .description(
      "print the end of a terminal's output, escape sequences and all; of an agent, the end of its conversation with steps and asks",
    )
    .argument("<thread>", THREAD_ARGUMENT)
    .option(
      "-f, --follow",
      "go on until the process ends, then exit with its exit code (an agent: until its turn ends; 0 if it ended well)",
    )
    .option("-n, --lines <count>", "how many lines; all for everything", "10")
    .option("--text", "without escape sequences")
    .addHelpText(
      "after",
      `${examples(
        "threadmux tail shop",
        "threadmux tail -f shop                  Ctrl-C leaves; the process goes on",
        "threadmux tail -n 100 --text shop | grep error",
        "threadmux tail -f --json shop | jq -rj .output",
        "threadmux tail -f '#12'                 an agent: asks stand there with how to answer them",
        "threadmux tail -f --json 12 | jq -r 'select(.type == \"agent_message\").text'",
      )}

On a terminal of your own only what draws is shown: a program's questions to the terminal, its title, clipboard and
mouse modes are left out. In a pipe everything is passed on.`,
    )
    .action((thread: string, options: TailOptions, command: Command) =>
      act(command, (context) => tail(context, thread, options)),
    );
}

export async function tail(context: Context, wanted: string, options: TailOptions): Promise<number> {
  const lines = parseCount("--lines", options.lines);
  const client = context.client();
  const thread = await findThread(client, wanted);
  if (thread.type === "agent") {
    if (options.text) throw new AppError("invalid_request", "--text: an agent's transcript is text already");
    return tailAgent(context, client, thread, { lines, follow: options.follow === true });
  }
  const { threadId, offset: end } = thread;
  const start = await findStart(client, threadId, { end, lines });
  const filter = filterFor(context, options.text === true);
  const skip = createLineSkipper(start.skipLines);
  if (!options.follow) return printOnce(context, readUntil(client, threadId, start.since, end), skip, filter);
  return followToEnd(context, client, thread, start.since, skip, filter);
}

/** In a pipe and as JSON everything is as it was. */
export function filterFor({ out, isJson }: Context, isText: boolean): TextFilter {
  if (isText) return plainText();
  return out.isTty && !isJson ? drawingOnly() : rawText();
}

async function printOnce(
  { out, isJson }: Context,
  replies: AsyncIterable<OutputReply>,
  skip: (text: string) => string,
  filter: TextFilter,
): Promise<number> {
  let output = "";
  let last: OutputReply | undefined;
  for await (const reply of replies) {
    const text = filter.push(skip(reply.output));
    if (isJson) output += text;
    else await out.write(text);
    last = reply;
  }
  if (isJson) await out.json({ ...last, output: output + filter.end() });
  else await out.write(filter.end());
  return EXIT.ok;
}

async function followToEnd(
  context: Context,
  client: SidecarClient,
  thread: Thread,
  since: number,
  skip: (text: string) => string,
  filter: TextFilter,
): Promise<number> {
  const { out, err, isJson, note } = context;
  // Ctrl-C is for us, not for the process: it goes on. What it drew is taken back before we leave.
  const stay = onLeave(() => {
    const rest = filter.end();
    if (!isJson && rest !== "") process.stdout.write(rest);
  });
  const onSilence = () => note("threadmux: the sidecar does not answer; waiting for it");
  let last: OutputReply | undefined;
  try {
    for await (const reply of follow(client, thread.threadId, since, onSilence)) {
      last = reply;
      const text = filter.push(skip(reply.output));
      if (isJson) await out.json({ ...reply, output: text });
      else await out.write(text);
    }
    if (!isJson) await out.write(filter.end());
  } finally {
    stay();
  }
  if (err.isTty && last) await note(`[${thread.threadId}: ${describeEnd(last)}]`);
  return last?.exitCode ?? EXIT.failure;
}

export function describeEnd({
  status,
  exitCode,
  signal,
}: Pick<Thread, "status" | "exitCode" | "signal">): string {
  if (["idle", "waiting", "paused", "failed"].includes(status)) return status; // an agent that goes on later
  const how =
    signal !== null ? `ended by ${signal}` : exitCode !== null ? `ended with exit code ${exitCode}` : "ended";
  return status === "killed" || status === "lost" ? `${status}, ${how}` : how;
}
