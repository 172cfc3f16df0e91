/** Which threads a search means. Pure. */
import type { Thread } from "../../../shared/api.ts";

type Searched = Pick<
  Thread,
  "threadId" | "number" | "title" | "dir" | "command" | "type" | "status" | "doing"
>;

/** Whether each word of the query stands somewhere in what the list tells of the thread; upper case is as lower case. */
export function isMeant(thread: Searched, query: string): boolean {
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
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
