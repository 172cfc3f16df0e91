/** Which thread an argument means: a whole id, or the start of one. */
import { isOpen, type Thread, threadIdSchema } from "../shared/api.ts";
import type { SidecarClient } from "../shared/client.ts";
import { AppError } from "../shared/errors.ts";

const MAX_CANDIDATES = 8;

/**
 * The thread whose id is `wanted`, else the only one whose id starts with it; open ones go before ended ones.
 * @throws AppError `not_found` where there is none, `invalid_request` where there are several; both name what there is.
 */
export function pickThread(threads: readonly Thread[], wanted: string): Thread {
  const parsed = threadIdSchema.safeParse(wanted);
  if (!parsed.success) {
    throw new AppError("invalid_request", `thread: ${parsed.error.issues[0]?.message ?? "is no id"}`);
  }
  const exact = threads.find(({ threadId }) => threadId === wanted);
  if (exact) return exact;
  const matches = threads.filter(({ threadId }) => threadId.startsWith(wanted));
  const open = matches.filter(({ status }) => isOpen(status));
  const candidates = open.length > 0 ? open : matches;
  const [only, second] = candidates;
  if (only && !second) return only;
  if (only) {
    throw new AppError(
      "invalid_request",
      `thread: ${JSON.stringify(wanted)} is the start of several ids: ${listIds(candidates)}`,
    );
  }
  const known = threads.filter(({ status }) => isOpen(status));
  const hint = known.length > 0 ? `open are ${listIds(known)}` : "none is open";
  throw new AppError("not_found", `thread: no id is or starts with ${JSON.stringify(wanted)}; ${hint}`);
}

/** @throws AppError as {@link pickThread}, and what the client throws. */
export async function findThread(client: SidecarClient, wanted: string): Promise<Thread> {
  return pickThread(await client.listThreads({ status: "all" }), wanted);
}

function listIds(threads: readonly Thread[]): string {
  const ids = threads.map(({ threadId }) => threadId);
  const more = ids.length - MAX_CANDIDATES;
  return more > 0 ? `${ids.slice(0, MAX_CANDIDATES).join(", ")} and ${more} more` : ids.join(", ");
}
