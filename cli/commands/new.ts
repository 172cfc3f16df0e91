import type { Command } from "commander";
import { type CreateRequest, createRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { kindIn } from "../../shared/kinds.ts";
import {
  AGENT_OPTION_NAMES,
  type AgentOptions,
  addAgentOptions,
  agentRequest,
  messagesRequest,
  refuseAgentOptions,
  withTypedInputs,
} from "../agents/config.ts";
import { addBudgetOptions, BUDGET_OPTION_NAMES, type BudgetOptions, budgetRequest } from "../budget.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { DEFAULT_DETACH_KEYS } from "../detach-keys.ts";
import { EXIT } from "../exit-codes.ts";
import { CLI_KINDS } from "../kinds/kinds.ts";
import { makeId } from "../new-id.ts";
import { toCommandLine } from "../shell-words.ts";
import { parseSize } from "../size.ts";
import { readMessage } from "../stdin.ts";
import { checkTerminal } from "./attach.ts";
import { sizeHere, stay } from "./stay.ts";
import { tail } from "./tail.ts";

interface NewOptions extends AgentOptions, BudgetOptions {
  agent?: boolean;
  id?: string;
  title?: string;
  size?: string;
  attach?: boolean;
  follow?: boolean;
  discord?: boolean;
}

export function addNew(program: Command, act: Act): void {
  const command = program
    .command("new")
    .summary("open a thread in a directory below REPOS_DIR and print its id")
    .description(
      "open a thread in a directory below REPOS_DIR and print its id; one word is a shell's command line, several are a program and its arguments",
    )
    .argument("<dir>", "the directory")
    .argument("<command...>", "what to run, after --; with --agent, the prompt (- reads standard input)")
    .option("-a, --agent", "a coding agent instead of a terminal")
    .option("--id <id>", "the thread's id (otherwise made from the directory's name)")
    .option("--title <text>", "what people call it (otherwise the directory and the command)")
    .option("--size <cols>x<rows>", "the terminal's size (80x24; with --attach, yours)")
    .option("--attach", "sit at it at once; exits with its exit code if it ends meanwhile")
    .option("-f, --follow", "print its output until it ends, and exit with its exit code")
    .option("--discord", "a thread in Discord too")
    .option("--single", "of an agent: it takes no message after its first turn");
  addBudgetOptions(addAgentOptions(command))
    .addHelpText(
      "after",
      examples(
        "threadmux new shop -- npm test",
        "threadmux new shop --follow -- 'npm ci && npm test'",
        "threadmux new . --attach -- bash",
        'threadmux new --agent shop -- "fix the failing test"',
        "threadmux new --agent shop --as reviewer --input depth=2 -- 'what changed today'",
        "threadmux new --agent shop --max-usd 2 --max-turns 20 -- 'tidy up'",
        "threadmux new --agent shop --model opus --mode plan --follow -- - < task.md",
        "threadmux new shop --memory 2G --cpu 1.5 --pids 200 -- npm run build",
        "id=$(threadmux new shop -- make)",
      ),
    )
    .action((dir: string, words: string[], options: NewOptions, command: Command) =>
      act(command, (context) => create(context, dir, words, options)),
    );
}

async function create(context: Context, dir: string, words: string[], options: NewOptions): Promise<number> {
  if (options.attach && options.follow) {
    throw new AppError("invalid_request", "--attach: not together with --follow");
  }
  if (options.attach) checkTerminal(context);
  if (!options.agent) refuseAgentOptions(options);
  const asked = agentRequest(options);
  const isInput = options.agent && words.length === 1 && words[0] === "-";
  const prompt = isInput ? await readMessage(context.streams.stdin) : words.join(" ");
  const client = context.client();
  const agent = await withTypedInputs(client, dir, asked);
  const size = sizeOf(context, options);
  const request = checkRequest({
    threadId: options.id ?? makeId(dir),
    type: options.agent ? "agent" : "terminal",
    dir,
    command: options.agent ? prompt : toCommandLine(words),
    ...(isInput ? { plain: true } : {}),
    ...(agent ? { agent } : {}),
    ...messagesRequest(options),
    ...budgetRequest(options),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.discord ? { home: "discord" as const } : {}),
    ...size,
  });
  const { threadId } = request;
  if (options.attach) return stay(context, request, { detachKeys: DEFAULT_DETACH_KEYS });
  const reply = await client.createThread(request);
  for (const note of reply.notes ?? []) await context.note(note);
  if (options.follow) {
    // Standard output is for the process's own alone.
    await context.note(`thread ${threadId}`);
    return tail(context, CLI_KINDS, threadId, { follow: true, lines: "all" });
  }
  if (context.isJson) await context.out.json({ threadId, ...reply });
  else await context.out.line(threadId);
  return EXIT.ok;
}

function sizeOf(context: Context, options: NewOptions): { cols?: number; rows?: number } {
  if (options.size !== undefined) return parseSize("--size", options.size);
  return options.attach ? sizeHere(context) : {};
}

/** @throws AppError `invalid_request` naming the options that are wrong. */
export function checkRequest(request: CreateRequest): CreateRequest {
  const parsed = createRequestSchema.safeParse(request);
  if (parsed.success) return request;
  const names: Record<string, string> = {
    ...AGENT_OPTION_NAMES,
    ...BUDGET_OPTION_NAMES,
    threadId: "--id",
    title: "--title",
    command: kindIn(CLI_KINDS, request.type).asks,
  };
  const problems = parsed.error.issues.map(({ path, message }) => {
    // A problem inside a list or a file names its place there too.
    for (let end = path.length; end > 0; end--) {
      const name = names[path.slice(0, end).join(".")];
      if (name !== undefined) return [name, ...path.slice(end).map(String), message].join(": ");
    }
    return `${path.join(".")}: ${message}`;
  });
  throw new AppError("invalid_request", [...new Set(problems)].join("; "));
}
