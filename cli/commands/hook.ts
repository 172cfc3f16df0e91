/** The hook's door, tried out. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { testHook } from "./job.ts";

export function addHook(program: Command, act: Act): void {
  const hook = program
    .command("hook")
    .description("jobs that a request at the hook's door starts")
    .addHelpText("after", examples("threadmux hook test deploy"));
  hook
    .command("test")
    .description("send a signed example, as its sender would: its run begins as any other")
    .argument("<name>", "the job's name")
    .option("--body <file>", "what is sent (a small JSON text)")
    .addHelpText(
      "after",
      examples("threadmux hook test deploy", "threadmux hook test deploy --body push.json"),
    )
    .action((name: string, options: { body?: string }, command: Command) =>
      act(command, (context) => send(context, name, options)),
    );
}

async function send(context: Context, job: string, { body: file }: { body?: string }): Promise<number> {
  const body = file === undefined ? {} : { body: read(file) };
  const reply = await testHook(context.client(), job, body);
  if (context.isJson) await context.out.json(reply);
  else await context.out.line(`${reply.status} ${cleanLine(reply.answer)}`);
  return reply.status === 202 ? EXIT.ok : EXIT.failure;
}

/** @throws AppError `invalid_request` */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new AppError("invalid_request", `--body: ${errorText(error)}`, { cause: error });
  }
}
