/** Which thread an argument means: its id or name, its number, its title, or the start of its id or title. */
import { isOpen, type Thread } from "../shared/api.ts";
import type { SidecarClient } from "../shared/client.ts";
import { AppError } from "../shared/errors.ts";
import { kindOf } from "../shared/kinds.ts";

const MAX_CANDIDATES = 8;

/** How a thread is named, the surest way first: a later one counts only where no thread fits an earlier one. */
const WAYS: readonly ((thread: Thread, wanted: string) => boolean)[] = [
  ({ threadId, name }, wanted) => threadId === wanted || name === wanted,
  ({ number }, wanted) => number !== null && /^#?0*(\d{1,9})$/.exec(wanted)?.[1] === String(number),
  ({ threadId }, wanted) => threadId.startsWith(wanted),
  ({ title }, wanted) => title.toLowerCase() === wanted.toLowerCase(),
  ({ title }, wanted) => title.toLowerCase().startsWith(wanted.toLowerCase()),
];

/**
 * The thread that `wanted` names; of several that it names in the same way, the only open one.
 * @throws AppError `not_found` where there is none, `invalid_request` where there are several; both name what there is.
 */
export function pickThread(threads: readonly Thread[], wanted: string): Thread {
  if (wanted.trim() === "") throw new AppError("invalid_request", "thread: must not be empty");
  for (const isMeant of WAYS) {
    const matches = threads.filter((thread) => isMeant(thread, wanted));
    const open = matches.filter(({ status }) => isOpen(status));
    const candidates = open.length > 0 ? open : matches;
    const [only, second] = candidates;
    if (!only) continue;
    if (!second) return only;
    throw new AppError(
      "invalid_request",
      `thread: ${JSON.stringify(wanted)} fits several threads: ${listNames(candidates)}`,
    );
  }
  const known = threads.filter(({ status }) => isOpen(status));
  const hint = known.length > 0 ? `open are ${listNames(known)}` : "none is open";
  throw new AppError("not_found", `thread: no id, number or title fits ${JSON.stringify(wanted)}; ${hint}`);
}

/** @throws AppError as {@link pickThread}, and what the client throws. */
export async function findThread(client: SidecarClient, wanted: string): Promise<Thread> {
  return pickThread(await client.listThreads({ status: "all" }), wanted);
}

/** A thread that works in turns. @throws AppError as {@link findThread}, and `invalid_request` if it does not. */
export async function findAgent(client: SidecarClient, wanted: string): Promise<Thread> {
  const thread = await findThread(client, wanted);
  const { hasTurns, name } = kindOf(thread);
  if (hasTurns) return thread;
  throw new AppError("invalid_request", `thread: ${thread.threadId} is ${name}; this is for agents`);
}

/** What people call a thread, short: an agent by its number, a terminal by its id. */
export function nameOf({ threadId, number }: Pick<Thread, "threadId" | "number">): string {
  return number === null ? threadId : `#${number}`;
}

/** The same for a command to be typed: `#` would begin a shell's comment. */
export function argumentOf({ threadId, number }: Pick<Thread, "threadId" | "number">): string {
  return number === null ? threadId : String(number);
}

function listNames(threads: readonly Thread[]): string {
  const names = threads.map((thread) =>
    thread.number === null ? thread.threadId : `${thread.threadId} (${nameOf(thread)})`,
  );
  const more = names.length - MAX_CANDIDATES;
  return more > 0 ? `${names.slice(0, MAX_CANDIDATES).join(", ")} and ${more} more` : names.join(", ");
}
