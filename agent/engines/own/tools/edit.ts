/** Tool `edit`: an exact text of a file becomes another one. */
import * as z from "zod";
import { changeFiles } from "./change-files.ts";
import { excerptOf } from "./excerpt.ts";
import { apartPlacesOf, placesOf } from "./sequence.ts";
import { MAX_FILE_BYTES, takeSnapshot } from "./snapshot.ts";
import type { Tool } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { findPlace, isDelicate, shownName } from "./where.ts";

const MAX_NAMED_LINES = 10;

const input = z.strictObject({
  file_path: z.string().min(1).describe("From the thread's directory on, or absolute."),
  old_string: z.string().min(1).describe("As it stands in the file, with its blanks; it must be there once."),
  new_string: z.string().describe("What stands there then."),
  replace_all: z.boolean().optional().describe("old_string may be there more than once: all are replaced."),
});
type Input = z.infer<typeof input>;

export const edit: Tool<Input> = {
  name: "edit",
  kind: "edit",
  description:
    "Replaces a text in a file. Copy old_string exactly from what read shows, without the numbers of the lines, and with as many lines as make it the only such place.",
  input,
  isRepeatable: false,
  asksAs: ({ file_path }, where) => (isDelicate(file_path, where, "write") ? "always" : "write"),
  subject: ({ file_path }) => file_path,
  writes: ({ file_path }, where) => [findPlace(file_path, where, "write")],
  async run(call, context) {
    const { path, old } = await takeSnapshot(call.file_path, context);
    const name = shownName(path, context);
    if (!old) throw new ToolError(`${name} does not exist. Make it with write.`);
    const { data, count } = replaced(old.bytes, call, name);
    await changeFiles([{ path, old, new: data }], context);
    const { diffs, counts } = excerptOf(name, old.bytes, data);
    const places = count === 1 ? "" : ` in ${count} places`;
    return { text: `${name} was edited${places} (${counts} lines).`, diffs };
  },
};

/** Replaces text in a file of any encoding: bytes are compared, and all others stay as they are. */
function replaced(bytes: Buffer, call: Input, name: string): { data: Buffer; count: number } {
  if (bytes.includes(0)) throw new ToolError(`${name} is a binary file.`);
  const file = bytes.toString("latin1");
  const { old, fresh } = asInFile(file, encoded(call.old_string), encoded(call.new_string));
  if (old === fresh) throw new ToolError("old_string and new_string are the same.");
  const places = [...apartPlacesOf(old, file)];
  const count = places.length;
  if (count === 0) throw new ToolError(`old_string is not in ${name}.${hint(file, old)}`);
  if (count > 1 && call.replace_all !== true)
    throw new ToolError(
      `old_string is ${count} times in ${name} (${linesOf(file, places)}). Give more lines around it, or set replace_all.`,
    );
  if (file.length + count * (fresh.length - old.length) > MAX_FILE_BYTES)
    throw new ToolError(`${name} would become too long.`);
  const kept = [...places, file.length].map((at, index) => {
    const before = places[index - 1];
    return file.slice(before === undefined ? 0 : before + old.length, at);
  });
  return { data: Buffer.from(kept.join(fresh), "latin1"), count };
}

/** The model writes LF alone. In a file whose lines end in CRLF, both texts have CRLF too. */
function asInFile(file: string, old: string, fresh: string): { old: string; fresh: string } {
  const [pairs, all] = [countOf(file, "\r\n"), countOf(file, "\n")];
  const withPairs = (text: string) => text.replace(/\r?\n/g, "\r\n");
  const isThere = isIn(old, file);
  const isOther = !isThere && pairs > 0 && isIn(withPairs(old), file);
  return {
    old: isOther ? withPairs(old) : old,
    fresh: isOther || (isThere && pairs * 2 > all) ? withPairs(fresh) : fresh,
  };
}

function encoded(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function isIn(part: string, file: string): boolean {
  return placesOf(part, file).next().done === false;
}

function countOf(file: string, part: string): number {
  let count = 0;
  for (let at = file.indexOf(part); at >= 0; at = file.indexOf(part, at + part.length)) count++;
  return count;
}

function linesOf(file: string, places: readonly number[]): string {
  const lines: number[] = [];
  let line = 1;
  let from = 0;
  for (const at of places.slice(0, MAX_NAMED_LINES + 1)) {
    for (let end = file.indexOf("\n", from); end >= 0 && end < at; end = file.indexOf("\n", end + 1)) {
      line++;
      from = end + 1;
    }
    lines.push(line);
  }
  const shown = lines.slice(0, MAX_NAMED_LINES).join(", ");
  return `lines ${shown}${lines.length > MAX_NAMED_LINES ? ", …" : ""}`;
}

/** If only blanks differ, the model is told where. */
function hint(file: string, old: string): string {
  const plain = (text: string) => text.trim().replace(/[ \t\r]+/g, " ");
  const wanted = old
    .split("\n")
    .map(plain)
    .filter((line) => line !== "");
  if (wanted.length === 0) return "";
  const lines = file.split("\n").map(plain);
  const { value: at } = placesOf(wanted, lines).next();
  return at === undefined ? "" : ` Line ${at + 1} has it with other blanks: copy it as read shows it.`;
}
