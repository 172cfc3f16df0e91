/** Waits until something becomes true of a thread, for scripts. */
import type { Command } from "commander";
import { isOpen, type Thread } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { shortId } from "../agents/ask-text.ts";
import { followTranscript, readEnd } from "../agents/transcript.ts";
import { TurnOutcome } from "../agents/turn-outcome.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, exitCodeOfTurn } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { follow } from "../follow.ts";
import { onLeave } from "../leave.ts";
import { Patience } from "../patience.ts";

const WAITS = ["turn", "end", "ask"] as const;
type Wait = (typeof WAITS)[number];

export function addWait(program: Command, act: Act): void {
  program
    .command("wait")
    .summary("wait until an agent's turn or a thread ends, or an agent asks something")
    .description(
      "wait until an agent's turn has ended (turn), until the thread is over (end: a terminal's process has ended, an agent was ended), or until an agent asks something (ask)",
    )
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--for <what>", "turn, end or ask (an agent: turn; a terminal: end)")
    .addHelpText(
      "after",
      `${examples(
        "threadmux wait 12 && threadmux tail 12",
        "threadmux wait 12 --for ask && threadmux asks 12",
        "timeout 600 threadmux wait shop --for end",
      )}

It exits at once if that is so already: with 0 if the turn ended well, 6 if its result does not fit its schema and 1
if not, with a process's own exit code, and with 1 if the turn ends and nothing was asked. Ctrl-C leaves; the thread
goes on.`,
    )
    .action((thread: string, { for: what }: { for?: string }, command: Command) =>
      act(command, (context) => wait(context, thread, what)),
    );
}

async function wait(context: Context, wanted: string, what: string | undefined): Promise<number> {
  const client = context.client();
  const known = WAITS.find((one) => one === what);
  if (what !== undefined && !known) throw invalid(`--for: must be one of ${WAITS.join(", ")}`);
  const thread = await findThread(client, wanted);
  const goal: Wait = known ?? (thread.type === "agent" ? "turn" : "end");
  if (goal !== "end" && thread.type !== "agent") throw invalid(`--for: ${goal} is for agents`);
  const stay = onLeave(() => {});
  try {
    switch (goal) {
      case "end":
        return await waitForEnd(context, client, thread);
      case "turn":
        return await waitForTurn(context, client, thread.threadId);
      case "ask":
        return await waitForAsk(context, client, thread.threadId);
    }
  } finally {
    stay();
  }
}

async function waitForEnd(context: Context, client: SidecarClient, thread: Thread): Promise<number> {
  const { threadId, type } = thread;
  if (type === "terminal") {
    let exitCode: number | null = null;
    for await (const reply of follow(client, threadId, thread.offset, onSilence(context)))
      exitCode = reply.exitCode;
    return say(context, threadId, { exitCode }, exitCode ?? EXIT.failure);
  }
  // Of an agent nothing tells its end but what becomes of threads.
  const events = client.followEvents({
    since: 0,
    thread: [threadId],
    type: ["thread_status", "thread_removed"],
  });
  const patience = new Patience(onSilence(context));
  let output: Thread["output"];
  const isOver = async () => {
    const now = await patience.call(() => client.getThread(threadId));
    output = now.output;
    return !isOpen(now.status);
  };
  if (!(await isOver())) for await (const told of events) if ("threadId" in told && (await isOver())) break;
  return say(context, threadId, { status: "killed", ...(output && { output }) }, EXIT.ok);
}

async function waitForTurn(context: Context, client: SidecarClient, threadId: string): Promise<number> {
  const outcome = new TurnOutcome();
  const end = await readEnd(client, threadId, () => true);
  let { status } = end;
  for (const { event } of end.lines) if (event) outcome.add(event);
  for await (const part of followTranscript(client, threadId, end.offset, onSilence(context))) {
    for (const { event } of part.lines) if (event) outcome.add(event);
    status = part.status;
  }
  const { stopReason = null, output } = outcome.end ?? {};
  const hasFailed = !outcome.end || status === "failed" || status === "killed";
  const code = exitCodeOfTurn({ stopReason: stopReason ?? "error", output }, hasFailed);
  return say(context, threadId, { status, stopReason, ...(output && { output }) }, code);
}

async function waitForAsk(context: Context, client: SidecarClient, threadId: string): Promise<number> {
  const patience = new Patience(onSilence(context));
  const { offset } = await readEnd(client, threadId, () => true);
  for await (const { status } of followTranscript(client, threadId, offset, onSilence(context))) {
    if (status !== "waiting") continue;
    const [ask] = await patience.call(() => client.listAsks(threadId));
    if (!ask) continue;
    const { requestId, title } = ask;
    if (!context.isJson) await context.out.line(`${shortId(requestId)} ${cleanLine(title)}`);
    else await context.out.json({ threadId, requestId, title });
    return EXIT.ok;
  }
  await context.note(`threadmux: the turn of ${threadId} has ended, and nothing is asked`);
  return EXIT.failure;
}

/** For a program; a person sees that the command ends. */
async function say(
  { out, streams, isJson }: Context,
  threadId: string,
  how: Record<string, unknown>,
  exitCode: number,
): Promise<number> {
  streams.exitCode = exitCode;
  if (isJson) await out.json({ threadId, ...how });
  return exitCode;
}

function onSilence({ note }: Context): () => Promise<void> {
  return () => note("threadmux: the sidecar does not answer; waiting for it");
}

function invalid(message: string): AppError {
  return new AppError("invalid_request", message);
}
