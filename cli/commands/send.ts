import { isUtf8 } from "node:buffer";
import type { Command } from "commander";
import { MAX_BODY_BYTES, MAX_COMMAND_BYTES } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";

const CARRIAGE_RETURN = 0x0d;

interface SendOptions {
  enter: boolean;
  key: string[];
}

export function addSend(program: Command, act: Act): void {
  program
    .command("send")
    .description("type into a thread's process, or give an agent its next message")
    .argument("<thread>", "its id or the start of it")
    .argument("[text...]", "what to type, Enter after it; - types standard input, line by line")
    .option("--no-enter", "no Enter after the text")
    .option("-k, --key <name>", "press a key: C-c, Up, Escape, F5; as often as you like", collect, [])
    .addHelpText(
      "after",
      examples(
        "threadmux send shop npm test",
        "threadmux send shop --no-enter y",
        "threadmux send shop --key C-c",
        "threadmux send shop --key Up --key Enter",
        "threadmux send shop -- ls -la           a text with dashes goes after --",
        "threadmux send shop - < answers.txt     an agent gets all of it as one message",
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
  const { key: keys, enter } = options;
  if (words.length > 0 && keys.length > 0) {
    throw new AppError("invalid_request", "--key: not together with text; send one after the other");
  }
  if (words.length === 0 && keys.length === 0) {
    throw new AppError("invalid_request", "text: missing; give a text, --key, or - for standard input");
  }
  const client = context.client();
  const { threadId, type } = await findThread(client, wanted);
  let sent = 0;
  if (keys.length > 0) {
    for (const key of keys) await client.sendInput(threadId, { key });
    sent = keys.length;
  } else if (words.length === 1 && words[0] === "-") {
    const lines = readLines(context.streams.stdin);
    sent =
      type === "agent"
        ? await sendMessage(client, threadId, lines)
        : await sendLines(client, threadId, lines, enter);
  } else {
    await client.sendInput(threadId, { text: words.join(" "), enter });
    sent = 1;
  }
  if (context.isJson) await context.out.json({ sent: true, threadId, inputs: sent });
  return EXIT.ok;
}

async function sendLines(
  client: SidecarClient,
  threadId: string,
  lines: AsyncIterable<Buffer>,
  enter: boolean,
): Promise<number> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    try {
      const text = toText(line, number);
      if (text !== "" || enter) await client.sendInput(threadId, { text, enter });
    } catch (error) {
      throw atLine(number, error, number === 1 ? "nothing was sent" : "the lines before it were sent");
    }
  }
  return number;
}

function atLine(number: number, error: unknown, sent: string): unknown {
  if (!(error instanceof AppError)) return error;
  const sentence = `standard input, line ${number}: ${error.message} (${sent})`;
  return new AppError(error.code, sentence, { cause: error });
}

async function sendMessage(
  client: SidecarClient,
  threadId: string,
  lines: AsyncIterable<Buffer>,
): Promise<number> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const line of lines) {
    all.push(line);
    bytes += line.length + 1;
    if (bytes > MAX_COMMAND_BYTES + 1) {
      const limit = MAX_COMMAND_BYTES.toLocaleString("en");
      throw new AppError("too_large", `standard input: an agent's message may have at most ${limit} bytes`);
    }
  }
  const text = all.map((line, index) => {
    try {
      return toText(line, index + 1);
    } catch (error) {
      throw atLine(index + 1, error, "nothing was sent");
    }
  });
  await client.sendInput(threadId, { text: text.join("\n") });
  return 1;
}

/** Its lines, without their ends. */
async function* readLines(stdin: NodeJS.ReadableStream): AsyncGenerator<Buffer, void, undefined> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stdin) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
      yield rest.subarray(start, rest[end - 1] === CARRIAGE_RETURN && end > start ? end - 1 : end);
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > MAX_BODY_BYTES) {
      throw new AppError("too_large", "standard input: has a line over 1 MiB");
    }
  }
  if (rest.length > 0) yield rest;
}

/** What is no text can't be typed: better refused than changed. */
function toText(line: Buffer, number: number): string {
  if (!isUtf8(line)) throw new AppError("invalid_request", "must be UTF-8");
  const text = line.toString();
  return number === 1 ? text.replace(/^\ufeff/, "") : text; // a byte order mark
}
