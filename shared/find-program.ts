import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";

/** The file that `program` names, by itself or on `path`; undefined if there is none that can be run. */
export function findProgram(program: string, path: string): string | undefined {
  const candidates = program.includes("/")
    ? [resolve(program)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => resolve(folder, program));
  return candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false; // not there or not runnable: the next one
    }
  });
}
