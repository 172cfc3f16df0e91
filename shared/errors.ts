/**
 * What can go wrong for a caller of the sidecar, as one code → HTTP status table that the server and the
 * client share.
 */
export const ERROR_STATUS = {
  invalid_request: 400,
  invalid_directory: 400,
  unsupported: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  thread_exists: 409,
  job_exists: 409,
  already_answered: 409,
  thread_paused: 409,
  thread_locked: 409,
  thread_single: 409,
  turn_running: 409,
  conversation_open: 409,
  would_complete: 409,
  channel_fixed: 409,
  worktree_in_use: 409,
  worktree_dirty: 409,
  merge_conflict: 409,
  ask_ended: 410,
  thread_ended: 410,
  too_large: 413,
  range: 416,
  max_threads: 429,
  max_jobs: 429,
  too_many_agents: 429,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
  /** It may have been done, or not: who was to do it ended or went silent in between. */
  unknown_outcome: 504,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const ERROR_CODES = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]];

/**
 * An error that a caller can cause or has to know of. `message` is a whole sentence for a person: it is
 * shown in Discord as it is. Bugs are plain `Error`s and reach nobody but the log.
 */
export class AppError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "AppError";
    this.code = code;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** The text of anything thrown, for a log line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For the `default` of a `switch` over a union: a new member fails to compile here. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
