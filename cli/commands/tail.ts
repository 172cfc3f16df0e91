import type { Command } from "commander";
import { kindIn } from "../../shared/kinds.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { parseCount } from "../count.ts";
import { findThread } from "../find-thread.ts";
import type { CliKinds } from "../kinds/kinds.ts";

export interface TailOptions {
  follow?: boolean;
  /** A number, or `all`. */
  lines: string;
  text?: boolean;
}

export function addTail(program: Command, act: Act, kinds: CliKinds): void {
  program
    .command("tail")
    .summary("print the end of a thread's output; of an agent, of its conversation")
    .description(
      "print the end of a terminal's output, escape sequences and all; of an agent, the end of its conversation with steps and asks",
    )
    .argument("<thread>", THREAD_ARGUMENT)
    .option(
      "-f, --follow",
      "go on until the process ends, then exit with its exit code (an agent: until its turn ends; 0 if it ended well)",
    )
    .option("-n, --lines <count>", "how many lines; all for everything", "10")
    .option("--text", "without escape sequences")
    .addHelpText(
      "after",
      `${examples(
        "threadmux tail shop",
        "threadmux tail -f shop                  Ctrl-C leaves; the process goes on",
        "threadmux tail -n 100 --text shop | grep error",
        "threadmux tail -f --json shop | jq -rj .output",
        "threadmux tail -f '#12'                 an agent: asks stand there with how to answer them",
        "threadmux tail -f --json 12 | jq -r 'select(.type == \"agent_message\").text'",
      )}

On a terminal of your own only what draws is shown: a program's questions to the terminal, its title, clipboard and
mouse modes are left out. In a pipe everything is passed on.`,
    )
    .action((thread: string, options: TailOptions, command: Command) =>
      act(command, (context) => tail(context, kinds, thread, options)),
    );
}

export async function tail(
  context: Context,
  kinds: CliKinds,
  wanted: string,
  options: TailOptions,
): Promise<number> {
  const lines = parseCount("--lines", options.lines);
  const client = context.client();
  const thread = await findThread(client, wanted);
  const how = { lines, follow: options.follow === true, isText: options.text === true };
  return kindIn(kinds, thread.type).tail(context, client, thread, how);
}
