/** Small JSON files that are replaced as a whole, so that a reader never sees half of one. */
import { readFileSync } from "node:fs";
import { writeWhole } from "../../shared/whole-file.ts";

/** @param isDurable on the disk when this returns, not only visible */
export function replaceJson(path: string, value: unknown, isDurable = false): void {
  writeWhole(path, `${JSON.stringify(value)}\n`, { isDurable });
}

/** Undefined if the file is missing or no JSON. */
export function findJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
