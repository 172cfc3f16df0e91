/** Tool `bash`: a command, which the model waits for or lets go on in the background. */
import * as z from "zod";
import { onAbort, pause } from "../../../../shared/lifecycle.ts";
import { SECRET_WORDS } from "../../../../shared/sandbox/secrets.ts";
import { readable } from "../../readable.ts";
import type { BackgroundCommands } from "./background-commands.ts";
import { endText, joined, outputText } from "./command-text.ts";
import { RunningCommand } from "./running-command.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";

const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 600;
/** A command that fails at once is told as failed, not as one that runs. */
const FIRST_LOOK_MS = 300;
/** Between two pieces of output for people. */
const TELL_MS = 200;
const TOLD_BYTES = 4 * 1024;

const input = z.strictObject({
  command: z
    .string()
    .min(1)
    .describe("For bash, in the thread's directory. It has no terminal and no input."),
  description: z.string().optional().describe("In a few words for people: what it does."),
  timeout_seconds: z
    .int()
    .min(1)
    .max(MAX_SECONDS)
    .optional()
    .describe(
      `It is ended then; ${DEFAULT_SECONDS} if it is left out. With background: it is waited for so long, and then goes on.`,
    ),
  background: z.boolean().optional().describe("It goes on while you do something else: see process."),
});
type Input = z.infer<typeof input>;

export function bash(background: BackgroundCommands, mostSeconds?: number): Tool<Input> {
  return {
    name: "bash",
    kind: "execute",
    description:
      "Runs a command. Each begins anew in the thread's directory: a cd or a variable holds for that one alone. Of much output the beginning and the end come back. What is to go on, such as a server, needs background; what a command leaves running otherwise is ended with it.",
    input,
    isRepeatable: false,
    asksAs: ({ command }) => (SECRET_WORDS.some((word) => command.includes(word)) ? "always" : "bash"),
    subject: ({ command }) => command,
    run: (call, context) => {
      context.signal.throwIfAborted();
      if (call.background) return background.starting(() => start(call, context, background));
      const { timeout_seconds: seconds = DEFAULT_SECONDS } = call;
      if (mostSeconds === undefined || seconds <= mostSeconds) return wait(call, context);
      const waited = { ...call, timeout_seconds: mostSeconds };
      return background.starting(() => start(waited, context, background));
    },
  };
}

async function wait(call: Input, context: ToolContext): Promise<ToolResult> {
  const seconds = call.timeout_seconds ?? DEFAULT_SECONDS;
  const running = new RunningCommand(call.command, context, false);
  const isLate = await waitFor(running, seconds * 1_000, context);
  if (!running.ended) await running.kill();
  const { aborted } = context.signal;
  const end = running.ended;
  const note = aborted
    ? "It was ended: the user interrupted."
    : isLate
      ? `It was ended after ${seconds} seconds, its time limit.`
      : end && endText(end);
  const isError = aborted || isLate || end?.code !== 0;
  return { text: joined(outputText(running.output), note), ...(isError && { isError }) };
}

async function start(call: Input, context: ToolContext, background: BackgroundCommands): Promise<ToolResult> {
  const running = new RunningCommand(call.command, context, true);
  const ms = call.timeout_seconds === undefined ? FIRST_LOOK_MS : call.timeout_seconds * 1_000;
  await waitFor(running, ms, context);
  if (context.signal.aborted) await running.kill();
  const { ended } = running;
  if (ended) {
    const note = context.signal.aborted ? "It was ended: the user interrupted." : endText(ended);
    return { text: joined(outputText(running.output), note), ...(ended.code !== 0 && { isError: true }) };
  }
  const { id } = background.add(call.command, running);
  const note = `It runs in the background as ${id}. Its output from offset ${running.output.bytes} on comes with process.`;
  return { text: joined(outputText(running.output), note) };
}

/** Tells people what it prints meanwhile. @returns whether the time is over */
async function waitFor(running: RunningCommand, ms: number, context: ToolContext): Promise<boolean> {
  const { signal, onOutput } = context;
  let told = 0;
  const tell = () => {
    const { bytes } = running.output;
    if (bytes === told) return;
    const { data } = running.output.from(Math.max(told, bytes - TOLD_BYTES), TOLD_BYTES);
    told = bytes;
    onOutput?.(readable(data));
  };
  const timer = onOutput && setInterval(tell, TELL_MS);
  const over = new AbortController();
  onAbort(signal, () => over.abort());
  let isLate = false;
  const late = pause(ms, over.signal).then(() => {
    isLate = !over.signal.aborted;
  });
  await Promise.race([running.end, late]);
  over.abort();
  clearInterval(timer);
  return isLate && !running.ended;
}
