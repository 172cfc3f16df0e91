/** The ids of threads that are made here. */
import { randomInt } from "node:crypto";
import { basename } from "node:path";
import { trimEndOf } from "../shared/trim-end.ts";

/** The directory's name and five characters that nobody confuses: an id that can be typed by its start. */
export function makeId(dir: string): string {
  const letters = basename(dir)
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^-+/, "");
  const name = trimEndOf(letters, "-").slice(0, 20);
  const alphabet = "23456789abcdefghjkmnpqrstvwxyz";
  const suffix = Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${name === "" ? "t" : name}-${suffix}`;
}
