/** What people allowed an agent for its whole thread, and taking it back. */
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findAgent } from "../find-thread.ts";

interface Options {
  withdraw?: string[];
  withdrawAll?: boolean;
}

export function addRules(program: Command, act: Act): void {
  program
    .command("rules")
    .description("what people allowed an agent for its whole thread; takes it back")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--withdraw <rule...>", "these rules hold no longer, as `rules` prints them")
    .option("--withdraw-all", "no rule holds any longer")
    .addHelpText(
      "after",
      examples(
        "threadmux rules 12",
        "threadmux rules 12 --withdraw 'Bash(npm test *)'",
        "threadmux rules 12 --withdraw-all",
      ),
    )
    .action((thread: string, options: Options, command: Command) =>
      act(command, (context) => rules(context, thread, options)),
    );
}

async function rules(context: Context, wanted: string, options: Options): Promise<number> {
  const { out, isJson } = context;
  const client = context.client();
  const { threadId } = await findAgent(client, wanted);
  const granted = await client.listRules(threadId);
  if (options.withdraw !== undefined && options.withdrawAll)
    throw new AppError("invalid_request", "--withdraw and --withdraw-all exclude each other");
  const withdraw = options.withdrawAll ? granted : options.withdraw;
  if (withdraw === undefined) {
    if (isJson) await out.json({ threadId, rules: granted });
    else for (const rule of granted) await out.line(cleanLine(rule));
    return EXIT.ok;
  }
  if (withdraw.length > 0) await client.controlAgent(threadId, { control: "rules", withdraw });
  if (isJson) await out.json({ threadId, withdrawn: withdraw });
  return EXIT.ok;
}
