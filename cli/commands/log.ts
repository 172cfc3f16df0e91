import { once } from "node:events";
import { createWriteStream, rmSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { finished } from "node:stream/promises";
import type { Command } from "commander";
import { AppError, errorText } from "../../shared/errors.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { onLeave } from "../leave.ts";
import { drawingOnly, plainText } from "../terminal-text.ts";

interface LogOptions {
  text?: boolean;
  output?: string;
}

export function addLog(program: Command, act: Act): void {
  program
    .command("log")
    .description("print all of a thread's output, byte by byte as its terminal got it")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--text", "without escape sequences")
    .option("-o, --output <file>", "into a file, which is there only once it is whole")
    .addHelpText(
      "after",
      examples(
        "threadmux log shop > shop.log",
        "threadmux log --text shop | less",
        "threadmux log shop -o shop.log --json",
      ),
    )
    .action((thread: string, options: LogOptions, command: Command) =>
      act(command, (context) => log(context, thread, options)),
    );
}

async function log(context: Context, wanted: string, options: LogOptions): Promise<number> {
  const { out, isJson } = context;
  const { text: isText = false, output: file } = options;
  if (isJson && file === undefined) {
    throw new AppError("invalid_request", "--json: a log is no JSON; use -o, or tail --json -n all");
  }
  const client = context.client();
  const { threadId } = await findThread(client, wanted);
  const chunks = client.downloadLog(threadId, { format: isText ? "text" : "raw" });
  if (file !== undefined) {
    const bytes = await save(chunks, file);
    if (isJson) await out.json({ threadId, file, bytes });
    return EXIT.ok;
  }
  if (!out.isTty) {
    for await (const chunk of chunks) await out.write(chunk);
    return EXIT.ok;
  }
  const filter = isText ? plainText() : drawingOnly();
  const decoder = new TextDecoder();
  for await (const chunk of chunks) await out.write(filter.push(decoder.decode(chunk, { stream: true })));
  await out.write(filter.push(decoder.decode()) + filter.end());
  return EXIT.ok;
}

/** Beside it first: what was there is replaced by something whole or not at all. */
async function save(chunks: AsyncIterable<Uint8Array>, file: string): Promise<number> {
  const part = `${file}.${process.pid}.part`;
  const stay = onLeave(() => rmSync(part, { force: true }));
  let bytes = 0;
  try {
    const stream = createWriteStream(part, { flags: "wx", mode: 0o600 });
    await once(stream, "open");
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (!stream.write(chunk)) await once(stream, "drain");
    }
    stream.end();
    await finished(stream);
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    if (error instanceof AppError) throw error;
    const isUsage = ["ENOENT", "EACCES", "EISDIR", "ENOTDIR"].includes(
      (error as NodeJS.ErrnoException).code ?? "",
    );
    const message = `--output: ${errorText(error)}`;
    throw isUsage
      ? new AppError("invalid_request", message, { cause: error })
      : new Error(message, { cause: error });
  } finally {
    stay();
  }
  return bytes;
}
