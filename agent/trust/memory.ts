/** What people decided about directories: a file a decision, named by the key of what it was about. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
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
