/** Tells the model after a compaction, from the transcript and not from the summary, what is still open. Pure. */
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { timeOf } from "../../shared/clock-text.ts";

/** Most open things of a kind that the text names; it tells only the number of the rest. */
const MAX_NAMED = 20;
const MAX_TITLE = 200;

/**
 * @returns undefined if nothing is open: no answer or ask from before the last compaction, no child, no background
 * command, no job of its own
 */
export function openThings(fold: ThreadFold): string | undefined {
  const { compactedSeq = Number.POSITIVE_INFINITY } = fold;
  const isBefore = ({ seq }: { seq: number }) => seq < compactedSeq;
  const owed = (fold.voice?.owed ?? [])
    .filter(isBefore)
    .map(({ handle, at }) => `- ${handle} of ${timeOf(at)} has no answer from you yet.`);
  const asks = fold.asks
    .filter(isBefore)
    .filter(({ trust, limit, heldMessageId }) => !trust && !limit && heldMessageId === undefined)
    .map(({ title, kind }) =>
      kind === "question"
        ? `- People are still asked: ${short(title)}`
        : `- A person is still asked whether this may run: ${short(title)}`,
    );
  const children = fold.children.map(
    ({ threadId, title }) => `- Your child ${threadId} is at work: ${short(title)}`,
  );
  const tasks = fold.backgroundTasks.map(
    ({ taskId, title }) => `- In the background ${taskId} runs: ${short(title)}`,
  );
  const jobs = (fold.jobs?.made ?? []).map(
    (name) => `- You have made the job ${name}: job_list says when it is due.`,
  );
  const lines = [owed, asks, children, tasks, jobs].flatMap(named);
  if (lines.length === 0) return undefined;
  return `[threadmux: your conversation was shortened. This is open:]\n${lines.join("\n")}`;
}

function named(lines: readonly string[]): string[] {
  const more = lines.length - MAX_NAMED;
  return more > 0 ? [...lines.slice(0, MAX_NAMED), `- And ${more} more of these.`] : [...lines];
}

/** Puts a title on one line, so that no part of it looks like a line of this text. */
function short(title: string): string {
  return title.replace(/\s+/g, " ").slice(0, MAX_TITLE);
}
