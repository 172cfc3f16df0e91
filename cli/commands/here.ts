import type { Command } from "commander";
import { directoryId } from "../../shared/directory-id.ts";
import { AppError } from "../../shared/errors.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { DEFAULT_DETACH_KEYS } from "../detach-keys.ts";
import { makeId } from "../new-id.ts";
import { toCommandLine } from "../shell-words.ts";
import { checkTerminal } from "./attach.ts";
import { checkRequest } from "./new.ts";
import { sizeHere, stay } from "./stay.ts";

interface HereOptions {
  title?: string;
  detachKeys: string;
  discord?: boolean;
}

export function addHere(program: Command, act: Act): void {
  program
    .command("here")
    .summary("run a command in this directory, in a thread that goes on when you leave")
    .description(
      "run a command in this directory, in a thread that goes on when you leave; for a shell on the sidecar's own machine, below REPOS_DIR",
    )
    .argument("[command...]", "what to run, after --; without it, a shell")
    .option("--title <text>", "what people call it (otherwise the directory and the command)")
    .option("--detach-keys <keys>", "the keys that leave it running", DEFAULT_DETACH_KEYS)
    .option("--discord", "a thread in Discord too")
    .addHelpText(
      "after",
      `${examples(
        "threadmux here -- npm test",
        "threadmux here                          a shell, to come back to from anywhere",
        "threadmux here --discord -- 'npm ci && npm start'",
      )}

C-b d leaves it running, as closing the terminal does. If the command ends while you sit there, its last lines are
printed, its thread ends, and this exits with its exit code. On any other machine: threadmux run --attach <dir> -- …`,
    )
    .action((words: string[], options: HereOptions, command: Command) =>
      act(command, (context) => here(context, words, options)),
    );
}

async function here(context: Context, words: string[], options: HereOptions): Promise<number> {
  checkTerminal(context, "here", "new --follow");
  const dir = context.workingDir;
  const command = words.length === 0 ? context.env["SHELL"] || "bash" : toCommandLine(words);
  const request = checkRequest({
    threadId: makeId(dir),
    type: "terminal",
    command,
    ...(await thisDirectory(dir)),
    ...sizeHere(context),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.discord ? { home: "discord" as const } : {}),
  });
  try {
    return await stay(context, request, { detachKeys: options.detachKeys, endsThread: true });
  } catch (error) {
    throw sayWhere(error, "here");
  }
}

/** For a thread that must work where this command does. @throws AppError `invalid_directory` */
export async function thisDirectory(dir: string): Promise<{ dir: string; dirId: string }> {
  try {
    return { dir, dirId: await directoryId(dir) };
  } catch (cause) {
    throw new AppError("invalid_directory", "this directory is gone", { cause });
  }
}

/** With what such a command needs, if the sidecar has refused the directory. */
export function sayWhere(error: unknown, name: string): unknown {
  if (!(error instanceof AppError) || error.code !== "invalid_directory") return error;
  const where = `${name} works on the sidecar's own machine alone, below its REPOS_DIR`;
  return new AppError(error.code, `${error.message.replace(/\.$/, "")}; ${where}`, { cause: error });
}
