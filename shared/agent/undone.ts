/** What the agent is told of files that were put back. Pure. */
import { cleanLine } from "../clean-text.ts";
import type { EventOf } from "./events.ts";

const MAX_NAMED = 10;

export function undoneText({ restored, files, left, leftCount }: EventOf<"undo">): string {
  const back = `${count(files)} put back to what ${files === 1 ? "it was" : "they were"} earlier: ${list(restored, files)}.`;
  const stay =
    leftCount === 0
      ? ""
      : ` Left as they are: ${list(
          left.map(({ path }) => path),
          leftCount,
        )}.`;
  return `[threadmux: a person has undone changes; ${back}${stay} Read files again before you rely on them.]`;
}

function count(files: number): string {
  return files === 1 ? "one file was" : `${files} files were`;
}

function list(paths: readonly string[], all: number): string {
  const named = paths.slice(0, MAX_NAMED).map(cleanLine);
  const more = all - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}
