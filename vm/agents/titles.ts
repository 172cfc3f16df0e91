/** Threads get the names that their engines have for the conversations, unless a person has named them. */
import type { ThreadEvent } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { cleanTitle, isMadeTitle } from "../../shared/title.ts";
import type { Store } from "../store/store.ts";

/**
 * After the first answer: a name before it says no more than what was asked. Later ones follow.
 * @param fold what was true before the event
 */
export function noteTitle(
  { threads }: Pick<Store, "threads">,
  threadId: ThreadId,
  fold: ThreadFold,
  event: ThreadEvent,
): void {
  const isAnswered = event.type === "turn_end" || fold.totals.turns > 0;
  const named = event.type === "session_info_update" ? event.title : undefined;
  const title = cleanTitle(named ?? (event.type === "turn_end" ? fold.title : undefined) ?? "");
  if (!isAnswered || title === "") return;
  const thread = threads.find(threadId);
  if (!thread || thread.title === title) return;
  const isEngines = fold.title !== undefined && thread.title === cleanTitle(fold.title);
  if (isEngines || isMadeTitle(thread.title, thread)) threads.update(threadId, { title });
}
