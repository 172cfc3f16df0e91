/** Tool `glob`: the files whose names fit a pattern. */
import { join, relative } from "node:path";
import * as z from "zod";
import { formatCount } from "../../../../shared/format-count.ts";
import { compileGlob } from "./glob-match.ts";
import { Listing } from "./listing.ts";
import { findSearched, listFiles } from "./ripgrep.ts";
import type { Tool } from "./tool.ts";
import { shownName } from "./where.ts";

const MAX_FILES = 1_000;

const input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .describe("Such as *.ts, src/**/*.{ts,tsx}; without a slash it fits in every folder."),
  path: z.string().optional().describe("The directory to look in; the thread's if it is left out."),
});

export const glob: Tool<z.infer<typeof input>> = {
  name: "glob",
  kind: "search",
  description:
    "Finds files by their names, the one that was changed last first. Files that git ignores are left out.",
  input,
  isRepeatable: true,
  asksAs: () => "nothing",
  subject: ({ pattern, path }) => (path === undefined ? pattern : `${pattern} in ${path}`),
  async run({ pattern, path = "." }, context) {
    const searched = await findSearched(path, context);
    // An absolute pattern is one from the directory on.
    const own = pattern.startsWith(`${searched.folder}/`) ? relative(searched.folder, pattern) : pattern;
    const { paths, isCut, more } = await listFiles(searched, context, compileGlob(own), MAX_FILES);
    if (paths.length === 0)
      return { text: isCut ? "It took too long: look in a smaller directory." : "No file fits." };
    const listing = new Listing(MAX_FILES);
    for (const found of paths) if (!listing.add(shownName(join(searched.folder, found), context))) break;
    const left = paths.length - listing.lines + more;
    const notes = [
      ...(left > 0 ? [`${formatCount(left)} more files fit: make the pattern narrower.`] : []),
      ...(isCut ? ["It took too long: there may be more."] : []),
    ];
    return { text: notes.length === 0 ? listing.text() : `${listing.text()}\n\n(${notes.join(" ")})` };
  },
};
