import { resolve } from "node:path";
import type { Command } from "commander";
import type * as z from "zod";
import { backupDoneSchema, backupRefusedSchema, restoreDoneSchema } from "../../shared/backup.ts";
import { AppError } from "../../shared/errors.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { runOwn } from "../own-programs.ts";

const PROGRAM = "vm/backup/main.js";

export function addBackup(program: Command, act: Act): void {
  program
    .command("backup")
    .summary("all threads in one file, while they go on")
    .description(
      "copy the state folder into one file, also while the sidecar runs: database, logs, conversations, worktrees and what undoes turns; not the tokens, nor what agents' programs keep in the home directory",
    )
    .argument("<file>", "is made, for you alone; it must not be there")
    .option("--settings <file>", "the settings of the service, instead of those of this shell")
    .addHelpText("after", examples("threadmux backup ~/threadmux-$(date +%F).tar"))
    .action((file: string, options: { settings?: string }, command: Command) =>
      act(command, (context) => backup(context, file, options.settings)),
    );
  program
    .command("restore")
    .summary("a state folder of a backup")
    .description(
      "make the state folder anew from a backup; it must be empty, or not be there, and no sidecar may run on it",
    )
    .argument("<file>", "that backup has made")
    .option("--to <folder>", "another folder than STATE_DIR")
    .option("--settings <file>", "the settings of the service, instead of those of this shell")
    .addHelpText(
      "after",
      examples("threadmux restore threadmux.tar", "threadmux restore threadmux.tar --to /srv/threadmux"),
    )
    .action((file: string, options: { to?: string; settings?: string }, command: Command) =>
      act(command, (context) => restore(context, file, options)),
    );
}

async function backup(context: Context, file: string, settingsFile: string | undefined): Promise<number> {
  const paths = [stateDirOf(context, settingsFile), file].map((path) => resolve(context.workingDir, path));
  const done = await run(context, backupDoneSchema, ["backup", ...paths]);
  if (context.isJson) await context.out.json(done);
  else await context.out.line(done.file);
  await context.note(`${done.threads} threads, ${done.bytes} bytes; the tokens are not in it`);
  return EXIT.ok;
}

async function restore(
  context: Context,
  file: string,
  { to, settings }: { to?: string; settings?: string },
): Promise<number> {
  const paths = [file, to ?? stateDirOf(context, settings)].map((path) => resolve(context.workingDir, path));
  const done = await run(context, restoreDoneSchema, ["restore", ...paths]);
  if (context.isJson) await context.out.json(done);
  else await context.out.line(done.dir);
  await context.note(`${done.threads} threads, as they were at ${done.madeAt}`);
  if (done.movedFrom !== null)
    await context.note(
      `it was ${done.movedFrom}: worktrees of agents still name that folder (git worktree repair)`,
    );
  return EXIT.ok;
}

/** @param file of settings, if one was named */
function stateDirOf({ settings }: Context, file: string | undefined): string {
  const named = file === undefined ? undefined : settings.getProgramEnv(file)["STATE_DIR"];
  return named ?? settings.stateDir;
}

/** @throws AppError the program's own refusal */
async function run<S extends z.ZodType>(
  { env }: Context,
  schema: S,
  args: readonly string[],
): Promise<z.output<S>> {
  // The words of tar are read there. Whoever came by sudo may stand in a folder that is shut to them.
  const result = await runOwn({ file: PROGRAM, args, env: { ...env, LC_ALL: "C" }, cwd: "/" });
  const { stdout, stderr } = result;
  if (stdout === "") throw new AppError("internal", stderr.trim().split("\n").at(-1) ?? "no reason was told");
  const said: unknown = JSON.parse(stdout);
  const refused = backupRefusedSchema.safeParse(said).data;
  if (refused) throw new AppError(refused.code, refused.error);
  return schema.parse(said);
}
