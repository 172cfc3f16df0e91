/** An agent's work as a command: it is given a task, its answer is printed, and nothing is left open. */
import type { Command } from "commander";
import { MAX_BLOB_BYTES, readWhole } from "../../shared/agent/bound.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { isAtRest } from "../../shared/agent/files.ts";
import type { CreateRequest } from "../../shared/api.ts";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { trimEndOf } from "../../shared/trim-end.ts";
import { AskDesk } from "../agents/ask-desk.ts";
import {
  type AgentOptions,
  addAgentOptions,
  agentRequest,
  messagesRequest,
  refuseAgentOptions,
  withTypedInputs,
} from "../agents/config.ts";
import { Leave } from "../agents/leave.ts";
import { followTranscript, type TranscriptPart } from "../agents/transcript.ts";
import { TranscriptText } from "../agents/transcript-text.ts";
import { TurnOutcome } from "../agents/turn-outcome.ts";
import { addBudgetOptions, type BudgetOptions, budgetRequest } from "../budget.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { DEFAULT_DETACH_KEYS } from "../detach-keys.ts";
import { EXIT, exitCodeOfTurn } from "../exit-codes.ts";
import { makeId } from "../new-id.ts";
import { Patience } from "../patience.ts";
import { toCommandLine } from "../shell-words.ts";
import { readMessage } from "../stdin.ts";
import { checkTerminal } from "./attach.ts";
import { checkRequest } from "./new.ts";
import { sizeHere, stay } from "./stay.ts";

const LONGEST_WAIT_MS = 2_000;
const WAIT_NOTE_MS = 10_000;

interface RunOptions extends AgentOptions, BudgetOptions {
  agent?: boolean;
  attach?: boolean;
  detachKeys?: string;
  discord?: boolean;
  title?: string;
  verbose?: boolean;
}

export function addRun(program: Command, act: Act): void {
  const command = program
    .command("run")
    .summary("let an agent do a task and print its answer, or sit at a command; then end its thread")
    .description(
      "let an agent do a task in a directory below REPOS_DIR, print its answer, end its thread, and exit with 0 if its turn ended well. What it asks, you are asked; if standard input is no terminal, it is refused. With --attach, sit at a command instead, which goes on when you leave.",
    )
    .argument("<dir>", "the directory")
    .argument("<words...>", "after --: the task (- reads standard input); with --attach, what to run")
    .option("-a, --agent", "a coding agent")
    .option("--attach", "a terminal that you sit at (without a terminal of your own: new --follow)")
    .option("--detach-keys <keys>", `with --attach: the keys that leave it running (${DEFAULT_DETACH_KEYS})`)
    .option("--discord", "with --attach: a thread in Discord too")
    .option("--title <text>", "what people call the thread (otherwise the directory and the task)")
    .option("-v, --verbose", "show it at work, on standard error");
  addBudgetOptions(addAgentOptions(command))
    .addHelpText(
      "after",
      `${examples(
        'threadmux run --agent shop -- "which tests are slow?"',
        "npm test 2>&1 | threadmux run --agent shop --mode acceptEdits -- -",
        "threadmux run --agent shop --json -- 'sum up the last commit' | jq -r .answer",
        "threadmux run --agent shop --output-schema bugs.json -- 'list the bugs' | jq",
        "threadmux run --attach shop -- npm test",
      )}

With --output-schema the result is printed as JSON. If the agent gives none that fits, what it gave is printed all the
same, standard error says why (invalid_output), and it exits with 6.

It waits if too many agents are at work. Ctrl-C interrupts the agent and ends its thread; once more, and it
leaves within three seconds.

With --attach, C-b d leaves the command running, as closing the terminal does. If it ends while you sit there, its last
lines are printed, and this exits with its exit code.`,
    )
    .action((dir: string, words: string[], options: RunOptions, command: Command) =>
      act(command, (context) => {
        if (options.agent === options.attach)
          throw new AppError("invalid_request", "run: needs either --agent or --attach");
        return (options.agent ? run : sit)(context, dir, words, options);
      }),
    );
}

/** At a command in a terminal of its own. */
function sit(context: Context, dir: string, words: string[], options: RunOptions): Promise<number> {
  refuseAgentOptions(options);
  if (options.verbose) throw new AppError("invalid_request", "--verbose: only with --agent");
  checkTerminal(context, "--attach", "new --follow");
  const request = checkRequest({
    threadId: makeId(dir),
    type: "terminal",
    dir,
    command: toCommandLine(words),
    ...sizeHere(context),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.discord ? { home: "discord" as const } : {}),
  });
  return stay(context, request, { detachKeys: options.detachKeys ?? DEFAULT_DETACH_KEYS, endsThread: true });
}

async function run(context: Context, dir: string, words: string[], options: RunOptions): Promise<number> {
  if (options.detachKeys !== undefined || options.discord)
    throw new AppError(
      "invalid_request",
      `${options.discord ? "--discord" : "--detach-keys"}: only with --attach`,
    );
  const isInput = words.length === 1 && words[0] === "-";
  const prompt = isInput ? await readMessage(context.streams.stdin) : words.join(" ");
  const client = context.client();
  const agent = await withTypedInputs(client, dir, agentRequest(options));
  const request = checkRequest({
    threadId: makeId(dir),
    type: "agent",
    dir,
    command: prompt,
    ...(isInput && { plain: true }),
    // Nothing follows its turn: its engine ends with that.
    agent: { ...agent, mode: "single" },
    ...messagesRequest(options),
    ...budgetRequest(options),
    ...(options.title === undefined ? {} : { title: options.title }),
  });
  const patience = new Patience(() => context.note("threadmux: the sidecar does not answer; waiting for it"));
  // A sidecar that is not there, or refuses the token, is told; one that goes away later is waited for, also while it
  // makes the thread.
  await patience.call(() => client.listThreads({ status: "open" }));
  const leave = new Leave({ context, client, threadId: request.threadId, patience });
  let done: Done | undefined;
  let isOver = false;
  try {
    await create(context, client, request, { patience, signal: leave.signal });
    if (!leave.signal.aborted)
      done = await follow(context, client, request.threadId, { isVerbose: options.verbose === true, leave });
  } catch (error) {
    // A person who leaves is told only whether the thread ends.
    if (!leave.signal.aborted || !(error instanceof AppError)) throw error;
  } finally {
    // Also if its creation was not answered: it may be there.
    isOver = await leave.endThread();
  }
  const code = done ? turnCode(done) : EXIT.failure;
  const exitCode = leave.exitCode ?? (code === EXIT.ok && !isOver ? EXIT.unavailable : code);
  // If nobody reads what is printed, that ends us.
  context.streams.exitCode = exitCode;
  if (done) await print(context, request.threadId, done, code);
  return exitCode;
}

/** The outcome of the agent's work, and the sidecar's last word of it. */
interface Done {
  outcome: TurnOutcome;
  last: TranscriptPart | undefined;
}

/** Waits for a place. What was sent again after a lost answer may be there already: the id is nobody else's. */
async function create(
  { note }: Context,
  client: SidecarClient,
  request: CreateRequest,
  { patience, signal }: { patience: Patience; signal: AbortSignal },
): Promise<void> {
  let hasAsked = false;
  for (let waitMs = 200; !signal.aborted; waitMs = Math.min(waitMs * 1.5, LONGEST_WAIT_MS)) {
    try {
      await patience.call(() => client.createThread(request), signal);
      return;
    } catch (error) {
      if (!(error instanceof AppError) || signal.aborted) throw error;
      if (error.code === "thread_exists") return;
      if (error.code !== "too_many_agents") throw error;
      if (!hasAsked) await note(`threadmux: ${cleanLine(error.message)} Waiting for a place.`);
      hasAsked = true;
    }
    await pause(waitMs * (0.5 + Math.random()), signal); // many that wait do not ask at once
  }
}

async function follow(
  context: Context,
  client: SidecarClient,
  threadId: string,
  { isVerbose, leave }: { isVerbose: boolean; leave: Leave },
): Promise<Done> {
  const outcome = new TurnOutcome();
  const desk = new AskDesk(context, client, threadId, leave.signal);
  const shown = new TranscriptText(threadId);
  const onSilence = () => context.note("threadmux: the sidecar does not answer; waiting for it");
  const patience = new Patience(onSilence);
  const tellWait = waitTeller(context);
  let last: TranscriptPart | undefined;
  try {
    for await (const part of followTranscript(client, threadId, 0, onSilence)) {
      last = part;
      if (!isVerbose) await tellWait(part);
      for (const { event } of part.lines) {
        if (!event) continue;
        outcome.add(await patience.call(async () => wholeWords(client, threadId, event)));
        const isAsk = event.type === "permission_request" || event.type === "elicitation_request";
        if (isVerbose && !isAsk) for (const line of shown.add(event)) await context.err.line(line);
      }
      await desk.see(part.status === "waiting" ? await patience.call(() => client.listAsks(threadId)) : []);
    }
  } finally {
    desk.close();
  }
  return { outcome, last };
}

/** The event with its whole words, as far as the thread has kept them: they are to be printed uncut. */
function wholeWords(
  client: SidecarClient,
  threadId: string,
  event: ThreadEvent,
): Promise<ThreadEvent> | ThreadEvent {
  if (event.type !== "agent_message" && event.type !== "turn_end") return event;
  return readWhole(event, (sha256) => client.readBlob(threadId, sha256, MAX_BLOB_BYTES));
}

/** Says that the thread waits for a place, and now and then how many come before it. */
function waitTeller({ note }: Context): (part: TranscriptPart) => Promise<void> {
  let told = "";
  let toldMs = 0;
  return async ({ status, live }) => {
    const title = status === "queued" ? live?.step?.title : undefined;
    const nowMs = performance.now();
    if (title === undefined || title === told || (told !== "" && nowMs - toldMs < WAIT_NOTE_MS)) return;
    [told, toldMs] = [title, nowMs];
    await note(`threadmux: ${cleanLine(title)}`);
  };
}

function turnCode({ outcome: { end }, last }: Done): number {
  return end ? exitCodeOfTurn(end, !isAtRest(last?.status ?? "")) : EXIT.failure;
}

/** @param code what came of the turn */
async function print(
  { out, err, isJson }: Context,
  threadId: string,
  { outcome, last }: Done,
  code: number,
): Promise<void> {
  const { answer, end } = outcome;
  const { status: now = "failed", problem = null } = last ?? {};
  const status = isAtRest(now) ? "idle" : now; // the turn's: that the thread takes no second message is how `run` made it
  if (isJson) {
    const { stopReason = null, error = problem, result = null, output, durationMs, usage, cost } = end ?? {};
    await out.json({ threadId, status, stopReason, error, answer, result, output, durationMs, usage, cost });
    return;
  }
  if (end?.result !== undefined) await out.json(end.result);
  else if (answer !== "") await out.line(cleanLines(trimEndOf(answer, "\n")));
  if (code === EXIT.ok) return;
  const why = problem ?? end?.error ?? end?.stopReason.replaceAll("_", " ") ?? status;
  await err.line(`threadmux: ${cleanLine(why)}`);
}
