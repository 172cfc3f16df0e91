/** What it means for a thread that tmux refuses or does not answer. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { TmuxError } from "../tmux/control-client.ts";
import { threadEnded, whyOver } from "./ending.ts";

/**
 * The result. tmux refuses if it has no such pane, or if the pane's process has ended: the thread's end is about to
 * be noticed.
 * @throws AppError `thread_ended`, `unavailable`
 */
export async function whileItRuns<T>(threadId: ThreadId, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TmuxError) throw threadEnded(threadId, whyOver("exited"));
    throw error;
  }
}

/** The result, or undefined if tmux is away or no longer has the target. */
export async function unlessAway<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError && error.code === "unavailable") return undefined;
    if (error instanceof TmuxError) return undefined;
    throw error;
  }
}
