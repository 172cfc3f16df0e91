/** What the commands share with the program that they are part of. */
import type { Command } from "commander";
import type { Context } from "./context.ts";

/** Runs what a command does, with what its options say. Its result is the exit code. */
export type Act = (command: Command, work: (context: Context) => Promise<number>) => Promise<void>;

/** The end of a command's `--help`. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

/** What every command says of the thread that it takes. */
export const THREAD_ARGUMENT = "its id, number (12 or '#12') or title, or the start of its id or title";
