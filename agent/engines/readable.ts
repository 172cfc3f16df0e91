/** What a program has printed, made fit to be read. Pure. */
import stripAnsi from "strip-ansi";
import { cleanLines } from "../../shared/clean-text.ts";

const MAX_PIECE = 4_096;

/** A progress bar that draws over its line shows as it stood last. */
export function readable(bytes: Buffer): string {
  const lines = bytes
    .toString("utf8")
    .split("\n")
    .map((line) => lastDrawn(withoutSequences(line)));
  return cleanLines(lines.join("\n")).trim();
}

/** In pieces: the search for a sequence's end looks at what follows each of its starts. */
function withoutSequences(line: string): string {
  let text = "";
  for (let at = 0; at < line.length; at += MAX_PIECE) text += stripAnsi(line.slice(at, at + MAX_PIECE));
  return text;
}

function lastDrawn(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}
