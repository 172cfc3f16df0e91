/** Tool `process`: the commands that run in the background. */
import * as z from "zod";
import { formatCount } from "../../../../shared/format-count.ts";
import { pause } from "../../../../shared/lifecycle.ts";
import { readable } from "../../readable.ts";
import type { BackgroundCommand, BackgroundCommands } from "./background-commands.ts";
import { endText, joined } from "./command-text.ts";
import { quotedName } from "./names.ts";
import type { Tool, ToolResult } from "./tool.ts";
import { ToolError } from "./tool-error.ts";

const MAX_READ_BYTES = 32 * 1024;
const MAX_TYPED_UNITS = 64 * 1024;
const MAX_WAIT_SECONDS = 60;
const POLL_MS = 50;
const MAX_SHOWN_COMMAND = 200;

const input = z.strictObject({
  action: z.enum(["list", "read", "type", "kill"]),
  id: z.string().optional().describe("Such as b1; for all but list."),
  offset: z
    .int()
    .min(0)
    .optional()
    .describe("For read: the byte of its output to begin with. The last ones if it is left out."),
  wait_seconds: z
    .int()
    .min(0)
    .max(MAX_WAIT_SECONDS)
    .optional()
    .describe("For read: waits so long for output from offset on, or for the end."),
  text: z
    .string()
    .max(MAX_TYPED_UNITS)
    .optional()
    .describe("For type: goes to its input as it is, with a newline if it has one."),
  eof: z.boolean().optional().describe("For type: its input ends with that."),
});
type Input = z.infer<typeof input>;

export function processTool(background: BackgroundCommands): Tool<Input> {
  return {
    name: "process",
    kind: "execute",
    description:
      "Commands that were started with background: list them, read what they print, type into one, kill one.",
    input,
    isRepeatable: false,
    // Text for a shell is a command, and b1 is another command after a restart, so no rule can be about it.
    asksAs: ({ action }) => (action === "type" ? "always" : "nothing"),
    subject: ({ action, id, text }) => [action, id, text].filter((part) => part !== undefined).join(" "),
    run: (call, context) => run(call, background, context.signal),
  };
}

async function run(call: Input, background: BackgroundCommands, signal: AbortSignal): Promise<ToolResult> {
  if (call.action === "list") {
    const all = background.list();
    return { text: all.length === 0 ? "No command runs in the background." : all.map(lineOf).join("\n") };
  }
  if (call.id === undefined) throw new ToolError(`process was called wrongly. id: ${call.action} needs it.`);
  const command = background.get(call.id);
  switch (call.action) {
    case "read":
      return read(command, call, signal);
    case "type":
      return type(command, call);
    case "kill": {
      if (command.running.ended) return { text: `${command.id} has ended before.` };
      await command.running.kill();
      return command.running.ended
        ? { text: `${command.id} was ended.` }
        : { text: `${command.id} does not end: it waits for the system.`, isError: true };
    }
  }
}

async function read(
  { id, running }: BackgroundCommand,
  { offset, wait_seconds = 0 }: Input,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { output } = running;
  const from = offset ?? Math.max(0, output.bytes - MAX_READ_BYTES);
  if (from > output.bytes) throw new ToolError(`${id} has printed only ${output.bytes} bytes so far.`);
  const deadline = performance.now() + wait_seconds * 1_000;
  while (output.bytes <= from && !running.ended && performance.now() < deadline && !signal.aborted)
    await pause(POLL_MS, signal);
  const { data, start, next } = output.from(from, MAX_READ_BYTES);
  const missing = start > from ? `${formatCount(start - from)} bytes before are not kept any more. ` : "";
  const state = running.ended ? `It has ended. ${endText(running.ended) ?? "Exit code 0."}` : "It runs.";
  const more = next < output.bytes ? "There is more. " : "";
  return { text: joined(readable(data), `${missing}${state} ${more}Next offset: ${next}.`) };
}

function type({ id, running }: BackgroundCommand, { text = "", eof = false }: Input): ToolResult {
  if (text === "" && !eof) throw new ToolError("process was called wrongly. text: type needs it, or eof.");
  const problem = running.ended ? "it has ended" : running.type(text, eof);
  if (problem !== undefined) throw new ToolError(`Nothing was typed into ${id}: ${problem}.`);
  return { text: `Typed into ${id}.` };
}

function lineOf({ id, command, running, startedMs }: BackgroundCommand): string {
  const shown = command.length > MAX_SHOWN_COMMAND ? `${command.slice(0, MAX_SHOWN_COMMAND - 1)}…` : command;
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const state = running.ended
    ? `ended (${endText(running.ended) ?? "Exit code 0."})`
    : `runs since ${seconds} s`;
  return `${id}: ${state}, ${formatCount(running.output.bytes)} bytes of output: ${quotedName(shown)}`;
}
