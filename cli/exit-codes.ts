/** What the command line exits with. */
import type { EventOf } from "../shared/agent/events.ts";
import { AppError, assertNever, type ErrorCode } from "../shared/errors.ts";

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  unavailable: 5,
  invalidOutput: 6,
  /** As a shell shows a program that Ctrl-C ended. */
  interrupted: 130,
} as const;

export const EXIT_CODES_HELP = `Exit codes:
  0    done
  1    failed
  2    wrong usage or settings: a bad argument, directory or token; a name that fits several threads
  3    no such thread
  4    refused: the thread has ended, its id is taken, too many are open, the text is too long,
       input comes too fast; what was asked has been answered or is not asked any more
  5    the sidecar or its tmux does not answer
  6    an agent's turn gave no result that fits its --output-schema
  130  ended by Ctrl-C
  tail -f, new --follow, and here, run --attach and new --attach while you sit there exit with the process's own code
  once it has ended; of an agent, with 0 if its turn ended well, 6 if its result does not fit, and 1 if not.`;

/** The exit code for an agent whose last turn ended so. @param hasFailed whether its thread can't go on */
export function exitCodeOfTurn(
  end: Pick<EventOf<"turn_end">, "stopReason" | "output">,
  hasFailed: boolean,
): number {
  if (hasFailed || end.stopReason !== "end_turn") return EXIT.failure;
  return end.output === "invalid_output" ? EXIT.invalidOutput : EXIT.ok;
}

export function exitCodeOf(error: unknown): number {
  return error instanceof AppError ? exitCodeOfCode(error.code) : EXIT.failure;
}

function exitCodeOfCode(code: ErrorCode): number {
  switch (code) {
    case "invalid_request":
    case "invalid_directory":
    case "unsupported":
    case "unauthorized":
      return EXIT.usage;
    case "not_found":
      return EXIT.notFound;
    case "thread_exists":
    case "job_exists":
    case "already_answered":
    case "thread_paused":
    case "thread_locked":
    case "thread_single":
    case "channel_fixed":
    case "worktree_in_use":
    case "worktree_dirty":
    case "merge_conflict":
    case "turn_running":
    case "conversation_open":
    case "would_complete":
    case "forbidden":
    case "ask_ended":
    case "thread_ended":
    case "too_large":
    case "range":
    case "max_threads":
    case "max_jobs":
    case "too_many_agents":
    case "rate_limited":
      return EXIT.refused;
    case "unavailable":
    case "unknown_outcome":
      return EXIT.unavailable;
    case "internal":
      return EXIT.failure;
    default:
      return assertNever(code);
  }
}
