/** What people decided about directories: a file a decision, named by the key of what it was about. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { type ShownText, trustedNote } from "../../shared/directives/trusted.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { findJson } from "../folder/json-file.ts";

const decisionSchema = z.object({ dir: z.string(), isTrusted: z.boolean(), decidedAt: z.iso.datetime() });

/** @returns undefined if nobody has decided, or the note can't be read: then it is asked again */
export function findDecision(folder: string, key: string): boolean | undefined {
  const parsed = decisionSchema.safeParse(findJson(join(folder, `${key}.json`)));
  return parsed.success ? parsed.data.isTrusted : undefined;
}

/** On the disk when this returns. Runners of several threads may write the same one at once. */
export function keepDecision(
  folder: string,
  { key, ...decision }: z.infer<typeof decisionSchema> & { key: string },
): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${key}.json`);
  writeWhole(path, `${JSON.stringify(decision)}\n`, { isDurable: true, part: `${path}.${process.pid}` });
}

/** The sidecar finds those directives alone of which this note is there. */
export function noteDirectives(folder: string, shown: readonly ShownText[], isTrusted: boolean): void {
  for (const text of shown) {
    const note = trustedNote(folder, text);
    if (!isTrusted) rmSync(note, { force: true });
    else if (!existsSync(note)) {
      mkdirSync(dirname(note), { recursive: true, mode: 0o700 });
      writeWhole(note, `${JSON.stringify(text)}\n`, { isDurable: true, part: `${note}.${process.pid}` });
    }
  }
}
