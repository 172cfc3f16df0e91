/** Memory: what agents keep for later conversations. */
import type { Command } from "commander";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import type { Memory } from "../../shared/memory-api.ts";
import { MemoryClient, type MemoryPlace } from "../../shared/memory-client.ts";
import { trimEndOf } from "../../shared/trim-end.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { readNote } from "../stdin.ts";
import { formatTable } from "../table.ts";

const PATH =
  "user/<name>.md or dirs/<id>/<name>.md, as ls prints it (main/<agent>/<name>.md is read by no agent yet); with --dir <name>.md";
const COLUMNS = [
  { title: "PATH" },
  { title: "BYTES" },
  { title: "CHANGED" },
  { title: "BY" },
  { title: "OF", minWidth: 12 },
];

interface DirOption {
  dir?: string;
}

export function addMemory(program: Command, act: Act): void {
  const group = program
    .command("memory")
    .description(
      "what agents keep for later conversations: files of Markdown for a directory, or for the user",
    )
    .addHelpText(
      "after",
      examples(
        "threadmux memory ls",
        "threadmux memory show MEMORY.md --dir shop",
        'threadmux memory write user/MEMORY.md "Answer in German."',
        "threadmux memory forget deploy.md --dir shop",
      ),
    );
  const command = (name: string, about: string) =>
    group
      .command(name)
      .description(about)
      .option("--dir <dir>", "the memory of this directory, below REPOS_DIR");
  command("ls", "which files there are, and who wrote them").action((options: DirOption, own: Command) =>
    act(own, (context) => list(context, options)),
  );
  command("search", "find lines that have all of the words: in memories first, then in transcripts")
    .argument("<words...>", "in any order")
    .option("--where <where>", "memory, transcripts or all", "all")
    .option("--limit <count>", "so many hits at most", "20")
    .action((words: string[], options: SearchOptions, own: Command) =>
      act(own, (context) => search(context, words.join(" "), options)),
    );
  command("show", "print a file")
    .argument("<path>", PATH)
    .action((path: string, options: DirOption, own: Command) =>
      act(own, (context) => show(context, { path, ...options })),
    );
  command("write", "add to a file, or replace it")
    .argument("<path>", PATH)
    .argument("[text]", "- or nothing: standard input")
    .option("--replace", "the text is the whole file")
    .action(
      (path: string, text: string | undefined, options: DirOption & { replace?: boolean }, own: Command) =>
        act(own, (context) => write(context, { path, ...options }, text)),
    );
  command("forget", "remove a file; undo brings it back")
    .argument("<path>", PATH)
    .action((path: string, options: DirOption, own: Command) =>
      act(own, (context) => forget(context, { path, ...options })),
    );
  group
    .command("undo")
    .description("take a write back, by the id that show and forget print")
    .argument("<write>", "its id")
    .action((writeId: string, _options: object, own: Command) =>
      act(own, (context) => undo(context, writeId)),
    );
}

interface SearchOptions extends DirOption {
  where: string;
  limit: string;
}

async function search(
  { client, out, note, isJson }: Context,
  query: string,
  { where, limit, dir }: SearchOptions,
): Promise<number> {
  const asked = { query, where: where as "all", limit, ...(dir !== undefined && { dir }) };
  const reply = await new MemoryClient(client()).search(asked);
  if (isJson) {
    await out.json(reply);
    return EXIT.ok;
  }
  for (const { path, line, at, text } of reply.hits)
    await out.line(`${cleanLine(path)}:${line}\t${at.slice(0, 10)}\t${cleanLine(text).trim()}`);
  const behind = reply.isBehind ? "; what was written last is not in the index yet" : "";
  await note(`${count(reply.hits.length, "hit")} in ${count(reply.filesSearched, "file")}${behind}`);
  return EXIT.ok;
}

async function list({ client, out, note, isJson }: Context, { dir }: DirOption): Promise<number> {
  const memories = await new MemoryClient(client()).list(dir);
  const rows = memories.flatMap(rowsOf);
  if (isJson) await out.json({ memories });
  else if (!out.isTty) for (const row of rows) await out.line(row.join("\t"));
  else if (rows.length === 0)
    await note("nothing is in memory; threadmux memory write --help says how to change that");
  else for (const line of formatTable(COLUMNS, rows, out.columns)) await out.line(line);
  return EXIT.ok;
}

function rowsOf({ directory, files }: Memory): string[][] {
  return files.map(({ path, bytes, changedAt, by }) =>
    [path, String(bytes), changedAt.slice(0, 16).replace("T", " "), by ?? "by hand", directory ?? ""].map(
      (cell) => cleanLine(cell),
    ),
  );
}

async function show({ client, out, note, isJson }: Context, wanted: MemoryPlace): Promise<number> {
  const file = await new MemoryClient(client()).get(wanted);
  if (isJson) {
    await out.json(file);
    return EXIT.ok;
  }
  await out.line(trimEndOf(cleanLines(file.text), "\n"));
  for (const { how, by, at, writeId } of file.writes)
    await note(`${at.slice(0, 16).replace("T", " ")} ${how} by ${cleanLine(by)} (${writeId})`);
  return EXIT.ok;
}

async function write(
  context: Context,
  { replace, ...wanted }: MemoryPlace & { replace?: boolean },
  given: string | undefined,
): Promise<number> {
  const text = given !== undefined && given !== "-" ? given : await readNote(context.streams.stdin);
  if (text.trim() === "")
    throw new AppError("invalid_request", "text: must not be empty; forget removes a file");
  const { path, dir } = wanted;
  const request = {
    path,
    ...(dir !== undefined && { dir }),
    text,
    ...(replace && { how: "replace" as const }),
  };
  const done = await new MemoryClient(context.client()).write(request);
  if (context.isJson) await context.out.json(done);
  else await context.note(`written to ${done.path}; threadmux memory undo ${done.writeId} takes it back`);
  return EXIT.ok;
}

async function forget(context: Context, wanted: MemoryPlace): Promise<number> {
  const done = await new MemoryClient(context.client()).forget(wanted);
  if (context.isJson) await context.out.json(done);
  else await context.note(`removed ${done.path}; threadmux memory undo ${done.writeId} brings it back`);
  return EXIT.ok;
}

async function undo(context: Context, writeId: string): Promise<number> {
  const done = await new MemoryClient(context.client()).undo(writeId);
  if (context.isJson) await context.out.json(done);
  else await context.note(`${done.path} is as it was before that`);
  return EXIT.ok;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
