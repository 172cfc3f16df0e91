/** Tool `apply_patch`: changes of several files, all or none. */
import * as z from "zod";
import { changeFiles, type PlannedFile } from "./change-files.ts";
import { excerptOf } from "./excerpt.ts";
import { applyHunks, type Hunk, type PatchedFile, parsePatch } from "./patch.ts";
import { MAX_FILE_BYTES, takeSnapshot } from "./snapshot.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { findPlace, isDelicate, shownName, type Where } from "./where.ts";

const MAX_UNITS = 1024 * 1024;

const input = z.strictObject({
  patch: z.string().min(1).max(MAX_UNITS).describe('From "*** Begin Patch" to "*** End Patch".'),
});
type Input = z.infer<typeof input>;

export const applyPatch: Tool<Input> = {
  name: "apply_patch",
  kind: "edit",
  description: `Changes files by a patch, all of them or none:
*** Begin Patch
*** Update File: src/a.ts
*** Move to: src/b.ts
@@ class Shop
 a line that stays
-a line that goes
+a line that comes
*** Add File: src/c.ts
+its first line
*** Delete File: src/d.ts
*** End Patch
"*** Move to" may be left out. Hunks come in the order of the file. Each has enough lines that stay, three before and after, to be found in one place alone; an @@ line names a line before it, such as that of its class or function. "*** End of File" behind a hunk says that it ends the file.`,
  input,
  isRepeatable: false,
  asksAs: (call, where) =>
    namesIn(call).some((name) => isDelicate(name, where, "write")) ? "always" : "write",
  subject: (call) => namesIn(call).join(", "),
  writes: ({ patch }, where) => pathsIn(parsePatch(patch)).map((name) => findPlace(name, where, "write")),
  async run({ patch }, context) {
    const plans: Plan[] = [];
    for (const file of parsePatch(patch)) plans.push(await planOf(file, context));
    checkApart(plans, context);
    await changeFiles(
      plans.flatMap(({ files }) => files),
      context,
    );
    return {
      text: plans.map(({ text }) => text).join("\n"),
      diffs: plans.flatMap(({ diffs }) => diffs ?? []),
    };
  },
};

interface Plan extends ToolResult {
  files: PlannedFile[];
}

async function planOf(file: PatchedFile, context: ToolContext): Promise<Plan> {
  const { path, old } = await takeSnapshot(file.path, context);
  const name = shownName(path, context);
  if (file.is === "add") {
    if (old) throw new ToolError(`${name} exists already. Update it, or replace it with write.`);
    const fresh = Buffer.from(file.lines.map((line) => `${line}\n`).join(""));
    const { diffs, counts } = excerptOf(name, null, fresh);
    return { files: [{ path, old, new: fresh }], text: `${name} was added (${counts} lines).`, diffs };
  }
  if (!old) throw new ToolError(`${name} does not exist.`);
  if (file.is === "delete") {
    const { diffs, counts } = excerptOf(name, old.bytes, null);
    return { files: [{ path, old, new: null }], text: `${name} was deleted (${counts} lines).`, diffs };
  }
  const fresh = changed(old.bytes, file.hunks, name);
  if (file.moveTo === undefined) {
    const { diffs, counts } = excerptOf(name, old.bytes, fresh);
    return { files: [{ path, old, new: fresh }], text: `${name} was changed (${counts} lines).`, diffs };
  }
  const target = await takeSnapshot(file.moveTo, context);
  const newName = shownName(target.path, context);
  if (target.old) throw new ToolError(`${newName} exists already: ${name} can't be moved there.`);
  const { diffs, counts } = excerptOf(newName, old.bytes, fresh);
  return {
    files: [
      { path: target.path, old: null, new: fresh, mode: old.mode },
      { path, old, new: null },
    ],
    text: `${name} was moved to ${newName} (${counts} lines).`,
    diffs,
  };
}

/** Changes the bytes of a file in any encoding, in the same way as edit. */
function changed(bytes: Buffer, hunks: readonly Hunk[], name: string): Buffer {
  if (bytes.includes(0)) throw new ToolError(`${name} is a binary file.`);
  const encoded = (text: string) => Buffer.from(text).toString("latin1");
  const coded = hunks.map(({ anchors, lines, isAtEnd }) => ({
    anchors: anchors.map(encoded),
    lines: lines.map(({ sign, text }) => ({ sign, text: encoded(text) })),
    isAtEnd,
  }));
  const fresh = Buffer.from(applyHunks(bytes.toString("latin1"), coded, name), "latin1");
  if (fresh.length > MAX_FILE_BYTES) throw new ToolError(`${name} would become too long.`);
  return fresh;
}

function checkApart(plans: readonly Plan[], context: Where): void {
  const paths = plans.flatMap(({ files }) => files.map(({ path }) => path));
  const twice = paths.find((path, at) => paths.indexOf(path) !== at);
  if (twice !== undefined)
    throw new ToolError(
      `The patch has ${shownName(twice, context)} twice. Put all of its hunks below one "*** Update File".`,
    );
}

function pathsIn(files: readonly PatchedFile[]): string[] {
  return files.flatMap((file) =>
    file.is === "update" && file.moveTo !== undefined ? [file.path, file.moveTo] : [file.path],
  );
}

/** None of a patch that can't be read: it changes nothing. */
function namesIn({ patch }: Input): string[] {
  try {
    return pathsIn(parsePatch(patch));
  } catch (error) {
    if (error instanceof ToolError) return [];
    throw error;
  }
}
