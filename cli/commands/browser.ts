import type { Command } from "commander";
import { parseAddress } from "../../shared/browser/address.ts";
import { addBudgetOptions, type BudgetOptions, budgetRequest } from "../budget.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { makeId } from "../new-id.ts";
import { checkRequest } from "./new.ts";

interface BrowserOptions extends BudgetOptions {
  id?: string;
  title?: string;
  discord?: boolean;
}

export function addBrowser(program: Command, act: Act): void {
  const command = program
    .command("browser")
    .summary("open a web page in a thread and print its id")
    .description(
      "open a web page in a thread and print its id; tail tells what it shows, and send opens, clicks a number, or types",
    )
    .argument("<url>", "the page's address")
    .option("--id <id>", "the thread's id (otherwise made from the address)")
    .option("--title <text>", "what people call it")
    .option("--discord", "a thread in Discord too");
  addBudgetOptions(command)
    .addHelpText(
      "after",
      examples(
        "threadmux browser example.org --discord",
        "threadmux send example.org-k3f9x 7",
        "threadmux tail -f example.org-k3f9x",
      ),
    )
    .action((url: string, options: BrowserOptions, command: Command) =>
      act(command, (context) => open(context, url, options)),
    );
}

async function open(context: Context, url: string, options: BrowserOptions): Promise<number> {
  const { href, hostname } = parseAddress(url);
  const request = checkRequest({
    threadId: options.id ?? makeId(hostname),
    type: "browser",
    dir: ".",
    command: href,
    ...budgetRequest(options),
    ...(options.title !== undefined && { title: options.title }),
    ...(options.discord && { home: "discord" as const }),
  });
  const reply = await context.client().createThread(request);
  if (context.isJson) await context.out.json({ threadId: request.threadId, ...reply });
  else await context.out.line(request.threadId);
  return EXIT.ok;
}
