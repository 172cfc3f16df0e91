/**
 * The protocol of `WS /thread/:id/attach?mode=type|view&acks=1&cols=…&rows=…&plain=1`: a thread as a live terminal.
 *
 * Binary frames are the terminal's bytes: from the server what to draw, to the server what was typed (at most
 * {@link MAX_INPUT_FRAME_BYTES} a frame). Text frames are JSON, {@link serverFrameSchema} and
 * {@link clientFrameSchema}. First comes `size`, then `status`, then bytes that draw the screen as it is now: a
 * reconnect needs nothing else. The thread has the cols and rows of the last `size`; a viewer can't change them,
 * `POST /thread/:id/resize` does, and every viewer gets a new `size`. A viewer's terminal must have exactly this size,
 * unless the viewer names its own with `cols` and `rows`, and later with `viewport`: then it is sent a picture of its
 * own size, with a margin or only a part of the thread's screen. `status` comes with every change, and every
 * {@link PING_INTERVAL_MS} with a ping, which must be answered: 30 s of silence more and the line is dead.
 *
 * Who may: a request with `Authorization: Bearer <token>`, or the console's page, which names its session's secret as
 * a subprotocol (`threadmux, threadmux.session.<secret>`; the server picks `threadmux`) and has an `Origin` of this
 * very host. Others are refused before the upgrade with 401. Whatever is wrong later comes as an `error` or `end`
 * frame and a close code of {@link CLOSE}.
 *
 * What is sent is bounded. A viewer that says `acks=1` gets at most {@link MAX_UNREAD_BYTES} that it has not
 * acknowledged as drawn, any other at most so many in the server's own buffer. Beyond that bytes are left out, not
 * queued, and once the viewer has caught up the screen is drawn anew: it misses what scrolled by, never what is there.
 */
import * as z from "zod";
import { type ThreadStatus, threadStatusSchema } from "./api.ts";
import { assertNever, ERROR_CODES, ERROR_STATUS, type ErrorCode } from "./errors.ts";

/** The subprotocol that the server picks, for clients that name any. */
export const VIEWER_PROTOCOL = "threadmux";
/** What stands before a console session's secret among the subprotocols … */
export const SESSION_PROTOCOL = "threadmux.session.";
/** … and in an `Authorization` header. */
export const SESSION_SCHEME = "Session";

export const PING_INTERVAL_MS = 30_000;
/** Larger frames to the server close the socket with 1009. */
export const MAX_INPUT_FRAME_BYTES = 64 * 1024;
/** What may be on its way to a viewer before the rest is left out … */
export const MAX_UNREAD_BYTES = 256 * 1024;
/** … and what it must come down to before anything is sent again. */
export const RESUME_UNREAD_BYTES = 64 * 1024;
/** How much a viewer may draw before it acknowledges; the smaller, the more frames. */
export const ACK_EVERY_BYTES = 16 * 1024;

/** A terminal may be smaller than any thread, and larger; beyond this its margin would be all that it draws. */
export const MAX_VIEWPORT = { cols: 1_000, rows: 500 };
const viewportFields = {
  cols: z.int().min(1).max(MAX_VIEWPORT.cols),
  rows: z.int().min(1).max(MAX_VIEWPORT.rows),
};
export type Viewport = { cols: number; rows: number };

const digits = z
  .string()
  .regex(/^\d{1,4}$/, "must be a whole number")
  .transform(Number);

export const attachQuerySchema = z
  .strictObject({
    /** `view` can't type: input is refused by tmux and ignored by the server. */
    mode: z.enum(["type", "view"]).default("type"),
    /** The viewer acknowledges what it has drawn, so that a slow one is not sent more than it can take. */
    acks: z
      .literal("1")
      .optional()
      .transform((value) => value === "1"),
    /** The size of the viewer's own terminal, if it is not to be the thread's. */
    cols: digits.pipe(viewportFields.cols).optional(),
    rows: digits.pipe(viewportFields.rows).optional(),
    /** The viewer's terminal is an xterm of 256 colours: no true colour, no coloured or curly underlines. */
    plain: z
      .literal("1")
      .optional()
      .transform((value) => value === "1"),
  })
  .refine(({ cols, rows }) => (cols === undefined) === (rows === undefined), {
    path: ["rows"],
    message: "must be given together with cols",
  });
export type AttachMode = z.output<typeof attachQuerySchema>["mode"];

/** How the thread stands; `exitCode` and `signal` are null while a process runs, and where nobody knows. */
const stateFields = {
  status: threadStatusSchema,
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
};

export const serverFrameSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("size"), cols: z.int(), rows: z.int() }),
  z.object({ type: z.literal("status"), ...stateFields }),
  /** The thread has ended for good: nothing more will come, and a reconnect is of no use. */
  z.object({ type: z.literal("end"), ...stateFields, text: z.string() }),
  z.object({ type: z.literal("error"), code: z.enum(ERROR_CODES), error: z.string() }),
]);
export type ServerFrame = z.infer<typeof serverFrameSchema>;

export const clientFrameSchema = z.discriminatedUnion("type", [
  /** All bytes drawn since the socket was opened. */
  z.strictObject({ type: z.literal("ack"), bytes: z.int().min(0) }),
  /** The viewer's own terminal has another size now. */
  z.strictObject({ type: z.literal("viewport"), ...viewportFields }),
]);
export type ClientFrame = z.infer<typeof clientFrameSchema>;

/** Close codes: 1000 after `end`; 4000 + the HTTP status of an {@link ErrorCode} after `error`. */
export const CLOSE = {
  ended: 1000,
  /** The sidecar stops or restarts: come back. */
  goingAway: 1001,
  /** The session of the console is over or was signed out. */
  signedOut: 4401,
  /** Did not take what was sent for too long. */
  tooSlow: 4408,
} as const;

export function closeCodeOf(code: ErrorCode): number {
  return 4_000 + ERROR_STATUS[code];
}

/** How a thread stands, in words for a person: "ended with exit code 1". */
export function describeState({
  status,
  exitCode,
  signal,
}: {
  status: ThreadStatus;
  exitCode: number | null;
  signal: string | null;
}): string {
  switch (status) {
    case "running":
      return "running";
    case "idle":
      return "idle";
    case "completed":
      return "completed";
    case "waiting":
      return "waiting for an answer";
    case "queued":
      return "waiting for a free place";
    case "paused":
      return "paused";
    case "failed":
      return "failed";
    case "locked":
      return "locked";
    case "exited":
      if (signal !== null) return `ended by ${signal}`;
      return exitCode === null ? "ended" : `ended with exit code ${exitCode}`;
    case "killed":
      return "killed";
    case "lost":
      return "lost: the tmux server ended under it";
    default:
      return assertNever(status);
  }
}
