/** How a thread's program ended, and what a thread that is over says. Pure. */
import { constants } from "node:os";
import type { ThreadStatus } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";

export interface Ending {
  exitCode: number | null;
  signal: string | null;
  /** Milliseconds since 1970. */
  endedAt: number;
}

/** What the wrapper leaves: the word that counts. */
export interface RunEnd {
  exitCode: number;
  endedAt: number;
}

/** What tmux says of a dead pane: about the wrapper, not about the program in it. */
export interface PaneEnd {
  exitCode: number | undefined;
  signal: number | undefined;
}

/** By the wrapper's word; if the wrapper itself was killed, by tmux's; if nobody knows, without a code. */
export function endingOf(run: RunEnd | undefined, pane: PaneEnd | undefined, now: number): Ending {
  if (run) return { ...describeEnd(run.exitCode), endedAt: run.endedAt };
  return { ...describeEnd(pane?.exitCode ?? null, pane?.signal), endedAt: now };
}

/** `128 + n` is how a shell says "died by signal n"; a program that ends with such a code itself reads the same. */
export function describeEnd(
  exitCode: number | null,
  signalNumber?: number,
): { exitCode: number | null; signal: string | null } {
  const number = signalNumber ?? (exitCode !== null && exitCode > 128 ? exitCode - 128 : 0);
  const signal = Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null;
  return { exitCode: exitCode ?? (signalNumber === undefined ? null : 128 + signalNumber), signal };
}

/** Why a thread takes no input; a kind says more of the statuses that only it has. */
export function whyOver(status: ThreadStatus): string {
  switch (status) {
    case "running":
    case "waiting":
    case "queued":
    case "paused":
    case "failed":
    case "locked":
      return "it goes on";
    case "idle":
    case "completed":
    case "exited":
      return "its process has ended";
    case "killed":
      return "it was killed";
    case "lost":
      return "it was lost with the tmux server";
    default:
      throw new Error(`unknown status ${status satisfies never}`);
  }
}

export function threadEnded(threadId: ThreadId, why: string): AppError {
  return new AppError("thread_ended", `Thread ${threadId} takes no input: ${why}.`);
}
