/** A thread that a person opens from a shell and sits at, until its process ends or the person leaves it running. */
import type { CreateRequest } from "../../shared/api.ts";
import { cleanLines } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { Context } from "../context.ts";
import { parseDetachKeys } from "../detach-keys.ts";
import { EXIT } from "../exit-codes.ts";
import { describeEnd } from "../thread-end.ts";
import { type AttachOptions, hasNothingToSitAt, sitAt } from "./attach.ts";

interface StayOptions extends Pick<AttachOptions, "detachKeys"> {
  /** The thread ends with its process, so that nothing is left open. Its log stays. */
  endsThread?: boolean;
}

/** The size of the person's own terminal, as far as a thread may have it. */
export function sizeHere({ out }: Context): { cols: number; rows: number } {
  const within = (value: number, min: number, max: number) => Math.min(max, Math.max(min, value));
  return { cols: within(out.columns, 20, 500), rows: within(out.rows, 5, 200) };
}

/**
 * Makes the thread and sits at it. Its id is told first, so that it can be found whatever happens then.
 * @returns its process's exit code if that has ended, else 0, or 130 after Ctrl-C while the sidecar was away
 * @throws AppError
 */
export async function stay(context: Context, request: CreateRequest, options: StayOptions): Promise<number> {
  const { threadId } = request;
  parseDetachKeys(options.detachKeys); // before anything is made
  const client = context.client();
  await client.createThread(request);
  await context.note(`thread ${threadId}`);
  // A short command may be over by now.
  if (!hasNothingToSitAt(await client.getThread(threadId))) {
    const how = await sitAt(context, threadId, options);
    if (how !== "over") return how === "interrupted" ? EXIT.interrupted : EXIT.ok;
  }
  const thread = await client.getThread(threadId);
  if (options.endsThread) await printLast(context, client, threadId);
  if (!kindOf(thread).hasExitCode) return EXIT.ok;
  await context.note(`[${threadId}: ${describeEnd(thread)}; all of its output: threadmux log ${threadId}]`);
  return thread.exitCode ?? EXIT.failure;
}

/** Ends the thread, and prints what its terminal showed last: that is gone from the person's own. */
async function printLast({ out }: Context, client: SidecarClient, threadId: string): Promise<void> {
  try {
    const { summary } = await client.killThread(threadId);
    if (summary.trim() !== "") await out.line(cleanLines(summary.trimEnd()));
  } catch (error) {
    // Somebody else has ended it meanwhile, or its tmux server is gone.
    if (!(error instanceof AppError && error.code === "thread_ended")) throw error;
  }
}
