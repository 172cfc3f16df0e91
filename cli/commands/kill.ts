import type { Command } from "commander";
import type { KillReply, Thread } from "../../shared/api.ts";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import { pickThread } from "../find-thread.ts";

export function addKill(program: Command, act: Act): void {
  program
    .command("kill")
    .description("end threads with everything that they started, and print the last lines of each")
    .argument("<thread...>", "their ids or the start of each; nothing is ended unless all are known")
    .addHelpText("after", examples("threadmux kill shop", "threadmux ls | cut -f1 | xargs threadmux kill"))
    .action((wanted: string[], _options: unknown, command: Command) =>
      act(command, (context) => kill(context, wanted)),
    );
}

type Result = { thread: Thread } & ({ reply: KillReply } | { error: AppError });

async function kill(context: Context, wanted: readonly string[]): Promise<number> {
  const { out, isJson } = context;
  const client = context.client();
  const known = await client.listThreads({ status: "all" });
  const threads = [...new Set(wanted.map((argument) => pickThread(known, argument)))];
  const results = await Promise.all(
    threads.map(async (thread): Promise<Result> => {
      try {
        return { thread, reply: await client.killThread(thread.threadId) };
      } catch (error) {
        if (error instanceof AppError) return { thread, error };
        throw error;
      }
    }),
  );
  if (isJson) await out.json(describe(results));
  for (const result of results) {
    if ("error" in result) await context.err.line(`threadmux: ${cleanLine(result.error.message)}`);
    else if (!isJson) await print(context, result.thread, result.reply, results.length > 1);
  }
  return Math.max(...results.map(exitCodeOfResult));
}

async function print(
  { out }: Context,
  { threadId }: Thread,
  { summary, exitCode, survivors }: KillReply,
  isOneOfMany: boolean,
): Promise<void> {
  if (isOneOfMany) await out.line(`==> ${threadId} <==`);
  if (summary.trim() !== "") await out.line(cleanLines(summary.trimEnd()));
  const code = exitCode === null ? "" : `, exit code ${exitCode}`;
  const left = survivors === 0 ? "" : `, but ${survivors} of its processes could not be ended`;
  await out.line(`killed ${threadId}${code}${left}`);
}

function describe(results: readonly Result[]) {
  return {
    killed: results.flatMap((result) =>
      "reply" in result ? [{ threadId: result.thread.threadId, ...result.reply }] : [],
    ),
    failed: results.flatMap((result) =>
      "error" in result
        ? [{ threadId: result.thread.threadId, error: result.error.message, code: result.error.code }]
        : [],
    ),
  };
}

function exitCodeOfResult(result: Result): number {
  if ("error" in result) return exitCodeOf(result.error);
  return result.reply.survivors === 0 ? EXIT.ok : EXIT.failure;
}
