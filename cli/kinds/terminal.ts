/** A terminal at the command line: its log is printed, its process's exit code is the command's. */
import type { OutputReply, Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { createLineSkipper, findStart, follow, readUntil } from "../follow.ts";
import { onLeave } from "../leave.ts";
import { drawingOnly, plainText, rawText, type TextFilter } from "../terminal-text.ts";
import { describeEnd } from "../thread-end.ts";
import { type CliKind, onSilence, say } from "./kind.ts";

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
