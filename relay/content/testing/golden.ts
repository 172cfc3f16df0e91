/** Recordings of real programs in a pane of 80 × 24, readable in a diff. */
import { readdirSync, readFileSync } from "node:fs";

const FOLDER = new URL("../golden/", import.meta.url);

/** The recordings' names. */
export const goldenNames = readdirSync(FOLDER).sort();

/** A file of a recording. */
export function goldenFile(name: string, file: "input.txt" | "expected.txt"): URL {
  return new URL(`${name}/${file}`, FOLDER);
}

/** What the program printed. */
export function readRecording(name: string): string {
  return unescapeLog(readFileSync(goldenFile(name, "input.txt"), "utf8"));
}

const NAMED: Record<string, string> = {
  "\r": "\\r",
  "\n": "\\n\n",
  "\t": "\\t",
  "\x1b": "\\e",
  "\\": "\\\\",
};

/** Control characters as `\e`, `\r`, `\n` (then a line break that does not count), `\x07`. */
export function escapeLog(log: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must become visible
  return log.replace(/[\\\u0000-\u001f\u007f-\u009f]/g, (character) => {
    return NAMED[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

/** The inverse of {@link escapeLog}. */
export function unescapeLog(text: string): string {
  return text.replace(/\\n\n|\n|\\([rnte\\])|\\x([0-9a-f]{2})/g, (match, name?: string, code?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    if (match === "\n") return "";
    if (match === "\\n\n") return "\n";
    return { r: "\r", n: "\n", t: "\t", e: "\x1b", "\\": "\\" }[name ?? ""] ?? "";
  });
}
