/** Which threads a search means. Pure. */
import type { Thread } from "../../../shared/api.ts";

type Searched = Pick<
  Thread,
  "threadId" | "number" | "title" | "dir" | "command" | "type" | "status" | "doing"
>;

/** Why a thread is meant: for what the list tells of it, or also for a line that it has printed. */
export type Match = { line?: string };

/**
 * Whether each word of the query stands somewhere in what the list tells of the thread, or in the last lines that it
 * printed; upper case is as lower case.
 * @param lines the newest one last
 * @returns undefined if it is not meant; the newest line that has a word which the list has not
 */
export function findMatch(thread: Searched, query: string, lines: readonly string[] = []): Match | undefined {
  const { threadId, number, title, dir, command, type, status, doing } = thread;
  const told = [
    threadId,
    number === null ? "" : `#${number}`,
    title,
    dir,
    command,
    type,
    status,
    doing ?? "",
  ];
  const text = told.join("\n").toLowerCase();
  const missing = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => !text.includes(word));
  if (missing.length === 0) return {};
  const lower = lines.map((line) => line.toLowerCase());
  if (!missing.every((word) => lower.some((line) => line.includes(word)))) return undefined;
  const at = lower.findLastIndex((line) => missing.some((word) => line.includes(word)));
  return { line: lines[at] ?? "" };
}
