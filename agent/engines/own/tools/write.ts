/** Tool `write`: a whole file. */
import * as z from "zod";
import { changeFiles } from "./change-files.ts";
import { excerptOf } from "./excerpt.ts";
import { MAX_FILE_BYTES, takeSnapshot } from "./snapshot.ts";
import type { Tool } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { findPlace, isDelicate, shownName } from "./where.ts";

const input = z.strictObject({
  file_path: z.string().min(1).describe("From the thread's directory on, or absolute."),
  content: z.string().describe("All that the file is to hold, as it is written to the disk."),
});

export const write: Tool<z.infer<typeof input>> = {
  name: "write",
  kind: "edit",
  description:
    "Writes a whole file: a new one, with the folders that it needs, or in place of what a file holds. To change a part of a file use edit.",
  input,
  isRepeatable: false,
  asksAs: ({ file_path }, where) => (isDelicate(file_path, where, "write") ? "always" : "write"),
  subject: ({ file_path }) => file_path,
  writes: ({ file_path }, where) => [findPlace(file_path, where, "write")],
  async run({ file_path, content }, context) {
    const { path, old } = await takeSnapshot(file_path, context);
    const name = shownName(path, context);
    const data = Buffer.from(content);
    if (data.length > MAX_FILE_BYTES) throw new ToolError(`The content for ${name} is too long.`);
    await changeFiles([{ path, old, new: data }], context);
    const { diffs, counts } = excerptOf(name, old?.bytes ?? null, data);
    return { text: `${name} was ${old ? "written" : "made"} (${counts} lines).`, diffs };
  },
};
