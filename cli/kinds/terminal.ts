/** A terminal at the command line: its log is printed, its process's exit code is the command's. */
import type { OutputReply, Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { createLineSkipper, findStart, follow, readUntil } from "../follow.ts";
import { onLeave } from "../leave.ts";
import { atLine, readLines, readPaste, toText } from "../stdin.ts";
import { drawingOnly, plainText, rawText, type TextFilter } from "../terminal-text.ts";
import { describeEnd } from "../thread-end.ts";
import { type CliKind, onSilence, refuseOption, type Said, say } from "./kind.ts";

export const terminal: CliKind = {
  asks: "command",
  wait: "end",
  waits: {
    end: async (context, client, { threadId, offset }) => {
      let exitCode: number | null = null;
      for await (const reply of follow(client, threadId, offset, onSilence(context)))
        exitCode = reply.exitCode;
      return say(context, threadId, { exitCode }, exitCode ?? EXIT.failure);
    },
  },
  send: async (client, threadId, said) => {
    const { text, keys, stdin, enter, paste, nextTurn, attach } = said;
    if (nextTurn) refuseOption("--next-turn", threadId, "is a terminal; it has no turns");
    if (attach.length > 0)
      refuseOption("--attach", threadId, "is a terminal, which takes text; an agent takes files");
    for (const key of keys) await client.sendInput(threadId, { key });
    if (keys.length > 0) return keys.length;
    if (text !== undefined) await client.sendInput(threadId, { text, enter, paste: paste ?? "auto" });
    else if (paste ?? (await isPasteAsked(client, threadId, stdin)))
      await client.sendInput(threadId, { text: await readPaste(stdin), enter, paste: true });
    else return sendLines(client, threadId, readLines(stdin), said);
    return 1;
  },
  tail: async (context, client, thread, { lines, follow: isFollowed, isText }) => {
    const { threadId, offset: end } = thread;
    const start = await findStart(client, threadId, { end, lines });
    const filter = filterFor(context, isText);
    const skip = createLineSkipper(start.skipLines);
    if (isFollowed) return followToEnd(context, client, thread, start.since, skip, filter);
    return printOnce(context, readUntil(client, threadId, start.since, end), skip, filter);
  },
};

/** In a pipe and as JSON everything is as it was. */
function filterFor({ out, isJson }: Context, isText: boolean): TextFilter {
  if (isText) return plainText();
  return out.isTty && !isJson ? drawingOnly() : rawText();
}

async function printOnce(
  { out, isJson }: Context,
  replies: AsyncIterable<OutputReply>,
  skip: (text: string) => string,
  filter: TextFilter,
): Promise<number> {
  let output = "";
  let last: OutputReply | undefined;
  for await (const reply of replies) {
    const text = filter.push(skip(reply.output));
    if (isJson) output += text;
    else await out.write(text);
    last = reply;
  }
  if (isJson) await out.json({ ...last, output: output + filter.end() });
  else await out.write(filter.end());
  return EXIT.ok;
}

async function followToEnd(
  context: Context,
  client: SidecarClient,
  thread: Thread,
  since: number,
  skip: (text: string) => string,
  filter: TextFilter,
): Promise<number> {
  const { out, err, isJson, note } = context;
  // Ctrl-C is for us, not for the process: it goes on. What it drew is taken back before we leave.
  const stay = onLeave(() => {
    const rest = filter.end();
    if (!isJson && rest !== "") process.stdout.write(rest);
  });
  let last: OutputReply | undefined;
  try {
    for await (const reply of follow(client, thread.threadId, since, onSilence(context))) {
      last = reply;
      const text = filter.push(skip(reply.output));
      if (isJson) await out.json({ ...reply, output: text });
      else await out.write(text);
    }
    if (!isJson) await out.write(filter.end());
  } finally {
    stay();
  }
  if (err.isTty && last) await note(`[${thread.threadId}: ${describeEnd(last)}]`);
  return last?.exitCode ?? EXIT.failure;
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
  { enter, paste }: Said,
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
