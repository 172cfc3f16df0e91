/** An agent at the command line: its conversation is printed, and its turns and asks can be waited for. */
import { basename } from "node:path";
import { MAX_ATTACHMENT_BYTES, MAX_MESSAGE_ATTACHMENTS } from "../../shared/agent/attachments.ts";
import { isOpen, type Thread } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { readRegular, UnfitFile } from "../../shared/regular-file.ts";
import { shortId } from "../agents/ask-text.ts";
import { tailAgent } from "../agents/tail.ts";
import { followTranscript, readEnd } from "../agents/transcript.ts";
import { TurnOutcome } from "../agents/turn-outcome.ts";
import type { Context } from "../context.ts";
import { EXIT, exitCodeOfTurn } from "../exit-codes.ts";
import { Patience } from "../patience.ts";
import { readMessage } from "../stdin.ts";
import { type CliKind, onSilence, refuseOption, say } from "./kind.ts";

export const agent: CliKind = {
  asks: "prompt",
  wait: "turn",
  waits: { turn: waitForTurn, end: waitForEnd, ask: waitForAsk },
  send: async (client, threadId, { text, keys, stdin, enter, paste, nextTurn, attach }) => {
    if (attach.length > MAX_MESSAGE_ATTACHMENTS)
      refuseOption("--attach", threadId, `takes at most ${MAX_MESSAGE_ATTACHMENTS} files with a message`);
    if (!enter) refuseOption("--no-enter", threadId, "is an agent, which takes whole messages");
    if (paste !== undefined)
      refuseOption(paste ? "--paste" : "--no-paste", threadId, "is an agent, which takes whole messages");
    if (keys.length > 0)
      refuseOption("--key", threadId, "is an agent, which takes text; threadmux interrupt ends its turn");
    const read = text === undefined ? { text: await readMessage(stdin), plain: true } : { text };
    const attachments = await attachAll(client, threadId, attach);
    const when = nextTurn ? { when: "next_turn" as const } : {};
    await client.sendInput(threadId, { ...read, ...when, attachments });
    return 1;
  },
  tail: async (context, client, thread, { lines, follow, isText }) => {
    if (isText) throw new AppError("invalid_request", "--text: an agent's transcript is text already");
    return tailAgent(context, client, thread, { lines, follow });
  },
};

async function waitForEnd(context: Context, client: SidecarClient, { threadId }: Thread): Promise<number> {
  // Nothing tells its end but what becomes of threads.
  const noteSilence = onSilence(context);
  const events = client.followEvents(
    { since: 0, thread: [threadId], type: ["thread_status", "thread_removed"] },
    undefined,
    noteSilence,
  );
  const patience = new Patience(noteSilence);
  let output: Thread["output"];
  const isOver = async () => {
    const now = await patience.call(() => client.getThread(threadId));
    output = now.output;
    return !isOpen(now.status);
  };
  if (!(await isOver())) for await (const told of events) if ("threadId" in told && (await isOver())) break;
  return say(context, threadId, { status: "killed", ...(output && { output }) }, EXIT.ok);
}

async function waitForTurn(context: Context, client: SidecarClient, { threadId }: Thread): Promise<number> {
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

async function waitForAsk(context: Context, client: SidecarClient, { threadId }: Thread): Promise<number> {
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

/** @returns their names there. @throws AppError before the message is sent */
async function attachAll(
  client: SidecarClient,
  threadId: string,
  paths: readonly string[],
): Promise<string[]> {
  const files = paths.map((path) => ({ name: basename(path), bytes: readSmall(path) }));
  const names: string[] = [];
  for (const { name, bytes } of files) names.push((await client.attach(threadId, name, bytes)).name);
  return names;
}

function readSmall(path: string): Uint8Array<ArrayBuffer> {
  const refuse = (why: string) => new AppError("invalid_request", `--attach: ${path} ${why}`);
  try {
    return new Uint8Array(readRegular(path, MAX_ATTACHMENT_BYTES));
  } catch (error) {
    if (error instanceof UnfitFile)
      throw refuse(error.stats.isFile() ? "is larger than 25 MiB" : "is no file");
    throw refuse(`can't be read: ${errorText(error)}`);
  }
}
