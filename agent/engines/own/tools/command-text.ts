/** Tells the model how a command went. Pure. */
import { formatCount } from "../../../../shared/format-count.ts";
import { readable } from "../../readable.ts";
import type { CommandOutput } from "./command-output.ts";
import type { CommandEnd } from "./running-command.ts";

const MAX_BYTES = 32 * 1024;

export function outputText(output: CommandOutput): string {
  const { head, leftOut, tail } = output.ends(MAX_BYTES);
  if (leftOut === 0) return readable(head);
  return `${readable(head)}\n\n… ${formatCount(leftOut)} bytes are left out …\n\n${readable(tail)}`;
}

/** A sentence; undefined if it ended as it should. */
export function endText({ code, signal, problem, hadOthers }: CommandEnd): string | undefined {
  const others = hadOthers
    ? "Processes that it had left running were ended: start what is to go on with background."
    : undefined;
  const how =
    problem ??
    (signal !== null ? `It was ended by ${signal}.` : code === 0 ? undefined : `Exit code ${code}.`);
  return how === undefined && others === undefined
    ? undefined
    : [how, others].filter((part) => part !== undefined).join(" ");
}

export function joined(output: string, note: string | undefined): string {
  if (output === "") return note === undefined ? "(It printed nothing.)" : `(It printed nothing. ${note})`;
  return note === undefined ? output : `${output}\n\n(${note})`;
}
