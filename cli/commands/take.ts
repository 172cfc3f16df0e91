import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { Conversation, ConversationsReply } from "../../shared/conversation-api.ts";
import { AppError } from "../../shared/errors.ts";
import { conversations } from "../../shared/protocol/conversations.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { argumentOf } from "../find-thread.ts";
import { makeId } from "../new-id.ts";
import { formatDuration, formatTable } from "../table.ts";
import { sayWhere, thisDirectory } from "./here.ts";
import { checkRequest } from "./new.ts";

const COLUMNS = [
  { title: "SESSION" },
  { title: "WRITTEN" },
  { title: "LENGTH" },
  { title: "FIRST WORDS", minWidth: 10 },
];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface TakeOptions {
  title?: string;
  model?: string;
  mode?: string;
  discord: boolean;
  anyway?: boolean;
}

export function addTake(program: Command, act: Act): void {
  program
    .command("take")
    .summary("go on in a thread with a claude conversation that you began by hand in this directory")
    .description(
      "make an agent that goes on from a claude conversation that you began by hand in this directory, or list those; for a shell on the sidecar's own machine, below REPOS_DIR",
    )
    .argument("[session]", "its id or the start of it; without one, they are listed, the newest first")
    .argument("[message...]", "the agent's first message; without it, the agent waits for one")
    .option(
      "--title <text>",
      "what people call the thread (otherwise the conversation's own title, or its first words)",
    )
    .option("--model <name>", "the agent's model")
    .option("--mode <mode>", "its permission mode: plan, acceptEdits, …")
    .option("--no-discord", "no thread in Discord")
    .option(
      "--anyway",
      "also if a claude has it open; what is said there from now on, the thread does not know",
    )
    .addHelpText(
      "after",
      `${examples(
        "threadmux take                          what can be taken",
        "threadmux take 4f0c                     waits for a message in Discord",
        "threadmux take 4f0c -- and now run the tests",
      )}

The thread begins with a copy: your conversation stays as it is, and goes on by claude --resume <session>.`,
    )
    .action((session: string | undefined, words: string[], options: TakeOptions, command: Command) =>
      act(command, (context) =>
        session === undefined ? list(context) : take(context, session, words, options),
      ),
    );
}

async function list(context: Context): Promise<number> {
  const { out, isJson, note } = context;
  const reply = await findHere(context, context.client());
  if (isJson) {
    await out.json(reply);
    return EXIT.ok;
  }
  const { conversations: found } = reply;
  const nowMs = Date.now();
  if (!out.isTty) {
    for (const one of found)
      await out.line([one.sessionId, one.updatedAt, lengthOf(one), cleanLine(one.firstWords)].join("\t"));
    return EXIT.ok;
  }
  if (found.length === 0) {
    await note(nothingIn(reply));
    return EXIT.ok;
  }
  const rows = found.map((one) => [
    one.sessionId.slice(0, 8),
    `${formatDuration(nowMs - Date.parse(one.updatedAt))} ago`,
    lengthOf(one),
    `${one.openPid === null ? "" : `(open, process ${one.openPid}) `}${cleanLine(one.firstWords)}`,
  ]);
  for (const line of formatTable(COLUMNS, rows, out.columns)) await out.line(line);
  await note("threadmux take <session> goes on with one of them in a thread");
  return EXIT.ok;
}

async function take(
  context: Context,
  session: string,
  words: string[],
  options: TakeOptions,
): Promise<number> {
  const { out, isJson, note } = context;
  const { title, model, mode, discord, anyway } = options;
  const client = context.client();
  const sessionId = UUID.test(session) ? session : pick(await findHere(context, client), session);
  const place = await thisDirectory(context.workingDir);
  const threadId = makeId(context.workingDir);
  const text = words.join(" ");
  // The same words are wrong here as of any thread.
  checkRequest({
    threadId,
    type: "agent",
    ...place,
    command: text || "-",
    ...(title !== undefined && { title }),
  });
  const body = {
    threadId,
    ...place,
    sessionId,
    force: anyway === true,
    ...(text !== "" && { text }),
    ...(title !== undefined && { title }),
    ...(discord && { home: "discord" as const }),
    agent: { ...(model !== undefined && { model }), ...(mode !== undefined && { permissionMode: mode }) },
  };
  const reply = await client.call(conversations.take, {}, { body }).catch((error: unknown) => {
    throw explain(error);
  });
  if (isJson) {
    await out.json({ threadId, ...reply });
    return EXIT.ok;
  }
  await out.line(threadId);
  const name = argumentOf(await client.getThread(threadId));
  await note(
    `goes on from a copy of ${JSON.stringify(cleanLine(reply.conversation.firstWords))}: threadmux send ${name}, threadmux tail -f ${name}`,
  );
  await note(`your own conversation stays as it is: claude --resume ${sessionId}`);
  return EXIT.ok;
}

async function findHere({ workingDir }: Context, client: SidecarClient): Promise<ConversationsReply> {
  const query = await thisDirectory(workingDir);
  return client.call(conversations.list, {}, { query }).catch((error: unknown) => {
    throw explain(error);
  });
}

/** @throws AppError `not_found`, or `invalid_request` if several begin so */
function pick(reply: ConversationsReply, session: string): string {
  const matches = reply.conversations.filter(({ sessionId }) => sessionId.startsWith(session));
  const [only, second] = matches;
  if (only && !second) return only.sessionId;
  const named = JSON.stringify(session);
  if (only)
    throw new AppError(
      "invalid_request",
      `session: ${named} fits several: ${matches.map(({ sessionId }) => sessionId).join(", ")}`,
    );
  const known = reply.conversations.map(({ sessionId }) => sessionId.slice(0, 8)).join(", ");
  throw new AppError(
    "not_found",
    `session: no conversation of this directory has an id that begins with ${named}; ${known === "" ? nothingIn(reply) : `there are ${known}`}`,
  );
}

function nothingIn({ path, folder }: ConversationsReply): string {
  return `no claude conversation that was begun by hand in ${cleanLine(path)} is in ${cleanLine(folder)}, where the sidecar's user keeps them`;
}

function lengthOf({ messages, bytes }: Conversation): string {
  if (messages === null) return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
  return `${messages} ${messages === 1 ? "message" : "messages"}`;
}

function explain(error: unknown): unknown {
  if (error instanceof AppError && error.code === "conversation_open")
    return new AppError(error.code, `${error.message} --anyway takes it all the same.`, { cause: error });
  return sayWhere(error, "take");
}
