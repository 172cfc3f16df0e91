/** Tool `grep`: lines of files that fit a regular expression. */
import { join } from "node:path";
import * as z from "zod";
import { compileGlob } from "./glob-match.ts";
import { Listing } from "./listing.ts";
import { findSearched, ignoring, isSearched, listFiles, runRipgrep, type Searched } from "./ripgrep.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { isDelicate, shownName } from "./where.ts";

const MAX_LINES = 500;
const MAX_CONTEXT = 10;
/** If a line is longer, its beginning is shown. */
const MAX_LINE_BYTES = 500;
/** Whose names a glob chooses. */
const MAX_FILES = 100_000;
const MAX_NAME_BYTES = 8 * 1024;
/** The most bytes of names that are given to one process. */
const MAX_ARGUMENT_BYTES = 64 * 1024;

const input = z.strictObject({
  pattern: z.string().min(1).describe("A regular expression as ripgrep has it, for one line."),
  path: z.string().optional().describe("A directory or a file; the thread's directory if it is left out."),
  glob: z.string().optional().describe("Only files whose names fit, such as *.ts or src/**."),
  ignore_case: z.boolean().optional(),
  context: z.int().min(0).max(MAX_CONTEXT).optional().describe("Lines before and after each that fits."),
  files_only: z.boolean().optional().describe("Only the names of the files that have it."),
});
type Input = z.infer<typeof input>;

export const grep: Tool<Input> = {
  name: "grep",
  kind: "search",
  description:
    "Searches the contents of files. Files that git ignores, binary ones, those over 64 MB and those whose names look like secrets are left out.",
  input,
  isRepeatable: true,
  asksAs: ({ path }, where) => (path !== undefined && isDelicate(path, where, "read") ? "always" : "nothing"),
  subject: ({ pattern, path }) => (path === undefined ? pattern : `${pattern} in ${path}`),
  async run(call, context) {
    const searched = await findSearched(call.path ?? ".", context);
    const listing = new Listing(MAX_LINES);
    const isCut = await search(call, searched, context, listing);
    if (listing.lines === 0)
      return { text: isCut ? "It took too long: search a smaller directory." : "Nothing fits." };
    return {
      text: isCut ? `${listing.text()}\n\n(There is more: make the search narrower.)` : listing.text(),
    };
  },
};

async function search(
  call: Input,
  searched: Searched,
  context: ToolContext,
  listing: Listing,
): Promise<boolean> {
  const lines = new Lines();
  const take = (record: Buffer) => {
    const found = call.files_only ? { path: record, rest: "" } : lines.parse(record);
    if (!found) return true;
    const path = found.path.toString("utf8").replace(/^\.\//, "");
    if (!isSearched(path, searched, context)) return true;
    return listing.add(`${shownName(join(searched.folder, path), context)}${found.rest}`);
  };
  const run = async (what: readonly string[]) =>
    (
      await runRipgrep(
        [...argsOf(call), ...what],
        searched.folder,
        context,
        call.files_only ? "\0" : "\n",
        take,
      )
    ).isCut;
  if (searched.file !== undefined) return run(["--", `./${searched.file}`]);
  if (call.glob === undefined) return run([...ignoring(searched.folder), "--", "./"]);
  const { paths, isCut } = await listFiles(searched, context, compileGlob(call.glob), MAX_FILES);
  for (const some of batches(paths.sort())) if (await run(["--", ...some])) return true;
  return isCut;
}

function argsOf({ pattern, ignore_case, context, files_only }: Input): string[] {
  return [
    ...["--null", "--with-filename", "--sort", "path", "--max-filesize", "64M", "--color", "never"],
    ...(files_only ? ["--files-with-matches"] : ["--line-number", "--no-heading", "--no-context-separator"]),
    ...["--max-columns", String(MAX_LINE_BYTES), "--max-columns-preview"],
    ...(ignore_case ? ["--ignore-case"] : []),
    ...(context === undefined || files_only ? [] : ["--context", String(context)]),
    ...["-e", pattern],
  ];
}

/** It says so of a binary file, in a line of its own. */
const BINARY = /^[^\0]*: binary file matches \(found "\\0" byte around offset \d+\)$/;

/** `path NUL number : line`, or `-` in place of `:` if the line only stands beside one that fits. */
class Lines {
  /** The beginning of a name with a newline in it. */
  #open: Buffer[] = [];

  parse(record: Buffer): { path: Buffer; rest: string } | undefined {
    const end = record.indexOf(0);
    if (end < 0) {
      const isBinary = record.length < MAX_NAME_BYTES && BINARY.test(record.toString("utf8"));
      this.#open = isBinary ? [] : [...this.#open.slice(-MAX_NAME_BYTES), record, Buffer.from("\n")];
      return undefined;
    }
    const path = Buffer.concat([...this.#open, record.subarray(0, end)]);
    this.#open = [];
    const [, number, sign, line = ""] = /^(\d+)([:-])([\s\S]*)$/.exec(record.toString("utf8", end + 1)) ?? [];
    return { path, rest: `${sign}${number}${sign} ${line.replace(/\r$/, "")}` };
  }
}

function* batches(paths: readonly string[]): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const name = `./${path}`;
    bytes += Buffer.byteLength(name) + 1;
    if (bytes > MAX_ARGUMENT_BYTES) {
      yield batch;
      batch = [];
      bytes = Buffer.byteLength(name) + 1;
    }
    batch.push(name);
  }
  if (batch.length > 0) yield batch;
}
