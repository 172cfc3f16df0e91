/** Files as people and models read them. Pure. */
import { relative } from "node:path";
import { cleanLine } from "../clean-text.ts";

const MAX_SHOWN = 150;

/** One line, as the directory names the file; of a very long name its end. */
export function shownPath(path: string, dir: string): string {
  const short = relative(dir, path);
  const name = cleanLine(short === "" || short.startsWith("..") ? path : short);
  return name.length > MAX_SHOWN ? `…${name.slice(1 - MAX_SHOWN)}` : name;
}
