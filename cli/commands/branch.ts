/** Goes on from an earlier point of an agent's conversation, in a thread of its own. */
import type { Command } from "commander";
import type * as z from "zod";
import { branchRequestSchema } from "../../shared/branch-api.ts";
import { AppError } from "../../shared/errors.ts";
import { AGENT_OPTION_NAMES } from "../agents/config.ts";
import { addLimitOptions, type LimitOptions, limitChanges } from "../agents/limits.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findAgent } from "../find-thread.ts";
import { makeId } from "../new-id.ts";
import { readMessage } from "../stdin.ts";

type Request = z.input<typeof branchRequestSchema>;

interface BranchOptions extends LimitOptions {
  at?: string;
  id?: string;
  title?: string;
  model?: string;
  mode?: string;
  files?: boolean;
  lock: boolean;
  beforeOutside?: boolean;
}

const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...AGENT_OPTION_NAMES,
  threadId: "--id",
  title: "--title",
  seq: "--at",
  messageId: "--at",
  beforeOutside: "--before-outside",
};

export function addBranch(program: Command, act: Act): void {
  const command = program
    .command("branch")
    .summary("go on from a point of an agent's conversation in a new thread, and print its id")
    .description(
      "go on from a point of an agent's conversation in a new thread, and print its id; it works in the same files as they are now, or with --files in a worktree of its own, and the branched thread takes no more messages until it is resumed",
    )
    .argument("<thread>", "the agent")
    .argument(
      "[text...]",
      "the branch's first message (- reads standard input); without it, the branch waits",
    )
    .option("--at <event>", "the number of an event, or a message's id (the newest text or message)")
    .option("--before-outside", "at the last point before text from outside got in: begins anew without it")
    .option("--id <id>", "the branch's id (otherwise made from the directory's name)")
    .option("--title <text>", "what people call it")
    .option("--model <name>", "its model")
    .option("--mode <mode>", "its permission mode: plan, acceptEdits, …")
    .option("--files", "in a git worktree of its own, with the files as they were then")
    .option("--no-lock", "let the branched thread take messages as before");
  addLimitOptions(command)
    .addHelpText(
      "after",
      examples(
        "threadmux branch 12 -- try it with a queue instead",
        "threadmux branch 12 --at 41 --no-lock",
        "threadmux steps 12 --json | jq '.steps[].seq'    numbers of events",
      ),
    )
    .action((thread: string, words: string[], options: BranchOptions, command: Command) =>
      act(command, (context) => branch(context, thread, words, options)),
    );
}

async function branch(
  context: Context,
  wanted: string,
  words: string[],
  options: BranchOptions,
): Promise<number> {
  const isInput = words.length === 1 && words[0] === "-";
  const text = isInput ? await readMessage(context.streams.stdin) : words.join(" ");
  const client = context.client();
  const parent = await findAgent(client, wanted);
  const { at, id, title, model, mode, files = false, lock, beforeOutside } = options;
  const limits = limitChanges(options, { mayRemove: false }) as NonNullable<Request["agent"]>["limits"];
  const request = checkRequest({
    threadId: id ?? makeId(parent.dir),
    lockParent: lock,
    ...(beforeOutside && { beforeOutside }),
    files,
    ...(at === undefined ? {} : /^\d{1,15}$/.test(at) ? { seq: Number(at) } : { messageId: at }),
    ...(text === "" ? {} : { text }),
    ...(isInput && text !== "" ? { plain: true } : {}),
    ...(title === undefined ? {} : { title }),
    agent: {
      ...(model === undefined ? {} : { model }),
      ...(mode === undefined ? {} : { permissionMode: mode }),
      ...(Object.keys(limits ?? {}).length === 0 ? {} : { limits }),
    },
  });
  const reply = await client.branchThread(parent.threadId, request);
  const { threadId } = request;
  if (context.isJson) await context.out.json({ ...reply, threadId });
  else await context.out.line(threadId);
  return EXIT.ok;
}

function checkRequest(request: Request): Request {
  const parsed = branchRequestSchema.safeParse(request);
  if (parsed.success) return request;
  const problems = parsed.error.issues.map((issue) => {
    const field = issue.path.join(".");
    return `${OPTION_NAMES[field] ?? field}: ${issue.message}`;
  });
  throw new AppError("invalid_request", [...new Set(problems)].join("; "));
}
