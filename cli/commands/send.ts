import { open } from "node:fs/promises";
import { basename } from "node:path";
import type { Command } from "commander";
import { MAX_ATTACHMENT_BYTES, MAX_MESSAGE_ATTACHMENTS } from "../../shared/agent/attachments.ts";
import type { Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { parseKey } from "../../shared/key-words.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { atLine, readLines, readMessage, readPaste, toText } from "../stdin.ts";

interface SendOptions {
  enter: boolean;
  /** Undefined if neither option is there. */
  paste?: boolean;
  key: string[];
  nextTurn?: boolean;
  attach: string[];
}

export function addSend(program: Command, act: Act): void {
  program
    .command("send")
    .description("type into a thread's process, or give an agent its next message")
    .argument("<thread>", THREAD_ARGUMENT)
    .argument("[text...]", "what to type, Enter after it; - types standard input")
    .option("--no-enter", "no Enter after the text")
    .option("--paste", "the text is one paste: in one piece if the program asked for pastes, else by lines")
    .option("--no-paste", "the text is keys, and standard input is typed line by line as it comes")
    .option("-k, --key <name>", "press a key: ctrl-c, up, esc, alt-b, F5; as often as you like", collect, [])
    .option("--next-turn", "an agent gets it when its turn has ended, not in the midst of it")
    .option(
      "-a, --attach <file>",
      "give an agent a file, a picture as a picture; up to 10 times",
      collect,
      [],
    )
    .addHelpText(
      "after",
      examples(
        "threadmux send shop npm test",
        "threadmux send shop --no-enter y",
        "threadmux send shop --key C-c",
        "threadmux send shop --key Up --key Enter",
        "threadmux send shop -- ls -la           a text with dashes goes after --",
        "threadmux send shop - < answers.txt     an agent gets all of it as one message",
        "threadmux send 12 and run the tests     agent #12, also while it works",
        "threadmux send --next-turn 12 then commit",
        "threadmux send 12 --attach shot.png why is this so wide",
      ),
    )
    .action((thread: string, words: string[], options: SendOptions, command: Command) =>
      act(command, (context) => send(context, thread, words, options)),
    );
}

function collect(key: string, before: string[]): string[] {
  return [...before, key];
}

async function send(
  context: Context,
  wanted: string,
  words: string[],
  options: SendOptions,
): Promise<number> {
  const { enter } = options;
  const keys = options.key.map(parseKey);
  if (words.length > 0 && keys.length > 0) {
    throw new AppError("invalid_request", "--key: not together with text; send one after the other");
  }
  if (words.length === 0 && keys.length === 0 && options.attach.length === 0) {
    throw new AppError("invalid_request", "text: missing; give a text, --key, or - for standard input");
  }
  const client = context.client();
  const thread = await findThread(client, wanted);
  const { threadId } = thread;
  checkOptions(thread, options);
  const isInput = words.length === 1 && words[0] === "-";
  const { stdin } = context.streams;
  let sent = 1;
  if (keys.length > 0) {
    for (const key of keys) await client.sendInput(threadId, { key });
    sent = keys.length;
  } else if (thread.type === "agent") {
    const text = isInput ? await readMessage(stdin) : words.join(" ");
    const when = options.nextTurn ? { when: "next_turn" as const } : {};
    const attachments = await attachAll(client, threadId, options.attach);
    await client.sendInput(threadId, {
      text,
      ...(isInput && { plain: true }),
      ...when,
      attachments,
    });
  } else if (isInput && (options.paste ?? (await isPasteAsked(client, threadId, stdin)))) {
    await client.sendInput(threadId, { text: await readPaste(stdin), enter, paste: true });
  } else if (isInput) {
    sent = await sendLines(client, threadId, readLines(stdin), options);
  } else {
    const paste = options.paste ?? "auto";
    await client.sendInput(threadId, { text: words.join(" "), enter, paste });
  }
  if (context.isJson) await context.out.json({ sent: true, threadId, inputs: sent });
  return EXIT.ok;
}

/** @throws AppError `invalid_request` for what this type of thread does not take. */
function checkOptions(
  { type, threadId }: Thread,
  { key, enter, paste, nextTurn, attach }: SendOptions,
): void {
  const refuse = (option: string, why: string) => {
    throw new AppError("invalid_request", `${option}: ${threadId} ${why}`);
  };
  if (type === "terminal" && nextTurn) refuse("--next-turn", "is a terminal; it has no turns");
  if (type === "terminal" && attach.length > 0)
    refuse("--attach", "is a terminal, which takes text; an agent takes files");
  if (attach.length > MAX_MESSAGE_ATTACHMENTS)
    refuse("--attach", `takes at most ${MAX_MESSAGE_ATTACHMENTS} files with a message`);
  if (type === "agent" && !enter) refuse("--no-enter", "is an agent, which takes whole messages");
  if (type === "agent" && paste !== undefined)
    refuse(paste ? "--paste" : "--no-paste", "is an agent, which takes whole messages");
  if (type === "agent" && key.length > 0)
    refuse("--key", "is an agent, which takes text; threadmux interrupt ends its turn");
}

/** @returns their names there. @throws AppError before the message is sent */
async function attachAll(client: SidecarClient, threadId: string, paths: string[]): Promise<string[]> {
  const files = await Promise.all(
    paths.map(async (path) => ({ name: basename(path), bytes: await readSmall(path) })),
  );
  const names: string[] = [];
  for (const { name, bytes } of files) names.push((await client.attach(threadId, name, bytes)).name);
  return names;
}

async function readSmall(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const refuse = (why: string) => new AppError("invalid_request", `--attach: ${path} ${why}`);
  const file = await open(path).catch((error: Error) => {
    throw refuse(`can't be read: ${error.message}`);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw refuse("is no file");
    if (stats.size > MAX_ATTACHMENT_BYTES) throw refuse("is larger than 25 MiB");
    return new Uint8Array(await file.readFile());
  } finally {
    await file.close();
  }
}

/** Whether the program has asked for pastes. People who type lines at a terminal of their own see each go in. */
async function isPasteAsked(
  client: SidecarClient,
  threadId: string,
  stdin: NodeJS.ReadableStream,
): Promise<boolean> {
  if ("isTTY" in stdin && stdin.isTTY === true) return false;
  return (await client.getScreen(threadId)).bracketedPaste === true;
}

async function sendLines(
  client: SidecarClient,
  threadId: string,
  lines: AsyncIterable<Buffer>,
  { enter, paste }: SendOptions,
): Promise<number> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    try {
      const text = toText(line, number);
      // In a line, a tab is text.
      const way = { paste: paste ?? text.includes("\t") };
      if (text !== "" || enter) await client.sendInput(threadId, { text, enter, ...way });
    } catch (error) {
      throw atLine(number, error, number === 1 ? "nothing was sent" : "the lines before it were sent");
    }
  }
  return number;
}
