/** Tool `ls`: what is in a directory. */
import { constants, type Dirent } from "node:fs";
import { open, opendir, readlink } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { formatCount } from "../../../../shared/format-count.ts";
import { Listing } from "./listing.ts";
import { quotedName } from "./names.ts";
import { worded } from "./open-file.ts";
import type { Tool } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { findPlace, findProblem, type Where } from "./where.ts";

const MAX_SHOWN = 1_000;
/** Beyond so many they are neither sorted nor counted. */
const MAX_READ = 100_000;

const input = z.strictObject({
  path: z.string().optional().describe("The directory; the thread's if it is left out."),
});

export const ls: Tool<z.infer<typeof input>> = {
  name: "ls",
  kind: "search",
  description:
    "Lists a directory: a name ends in / if it is a directory, and in -> and a path if it is a link. Names that start with a dot and those that git ignores are there too.",
  input,
  isRepeatable: true,
  asksAs: () => "nothing",
  subject: ({ path = "." }) => path,
  async run({ path: named = "." }, context) {
    const { entries, isCut } = await readFolder(named, context);
    if (entries.length === 0) return { text: `${quotedName(named)} is empty.` };
    const listing = new Listing(MAX_SHOWN);
    for (const entry of entries) if (!listing.add(entry)) break;
    const left = entries.length - listing.lines;
    if (left === 0) return { text: listing.text() };
    const most = isCut ? "at least " : "";
    return { text: `${listing.text()}\n\n(${most}${formatCount(left)} more. Use glob.)` };
  },
};

async function readFolder(named: string, where: Where): Promise<{ entries: string[]; isCut: boolean }> {
  const name = quotedName(named);
  const path = findPlace(named, where, "read");
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const handle = await worded(name, () => open(path, flags), {
    ENOTDIR: "is no directory: read it with read.",
  });
  try {
    const own = `/proc/self/fd/${handle.fd}`;
    const problem = findProblem(await readlink(own), where, "read");
    if (problem !== undefined) throw new ToolError(`${name} ${problem}`);
    const entries: string[] = [];
    for await (const entry of await opendir(own)) {
      if (entries.length >= MAX_READ) return { entries: entries.sort(), isCut: true };
      entries.push(await lineOf(entry, own));
    }
    return { entries: entries.sort(), isCut: false };
  } finally {
    await handle.close();
  }
}

async function lineOf(entry: Dirent, folder: string): Promise<string> {
  const name = quotedName(entry.name);
  if (entry.isDirectory()) return `${name}/`;
  if (entry.isSymbolicLink()) return `${name} -> ${await targetOf(join(folder, entry.name))}`;
  return entry.isFile() ? name : `${name} (no file)`;
}

async function targetOf(link: string): Promise<string> {
  try {
    return quotedName(await readlink(link));
  } catch {
    return "?"; // gone meanwhile
  }
}
