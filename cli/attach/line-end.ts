/** What the end of a connection to a thread's terminal means. Pure. */
import { isOpen } from "../../shared/api.ts";
import { CLOSE, describeState, type ServerFrame } from "../../shared/attach.ts";
import { AppError, type ErrorCode, errorText } from "../../shared/errors.ts";

export type LineEnd =
  /** Nothing runs in the thread any more; `text` says how it ended. */
  | { kind: "over"; text: string }
  /** For good. */
  | { kind: "refused"; error: AppError }
  /** A new connection may do better. */
  | { kind: "lost"; reason: string };

type EndingFrame = Extract<ServerFrame, { type: "status" | "end" | "error" }>;

/** Whether nothing comes after this frame. A pane whose process has ended stays, but takes no keys. */
export function endOfFrame(frame: EndingFrame): LineEnd | undefined {
  switch (frame.type) {
    case "status":
    case "end": {
      const runs = frame.type === "status" && isOpen(frame.status) && frame.status !== "exited";
      return runs ? undefined : { kind: "over", text: describeState(frame) };
    }
    case "error":
      return endOfError(frame.code, frame.error);
  }
}

export function endOfError(code: ErrorCode, text: string): LineEnd {
  const mayPass = code === "unavailable" || code === "internal";
  return mayPass ? { kind: "lost", reason: text } : { kind: "refused", error: new AppError(code, text) };
}

/** @param cause what the connection failed with, if it was cut. */
export function endOfClose(code: number, cause?: Error): LineEnd {
  switch (code) {
    case CLOSE.signedOut:
      return {
        kind: "refused",
        error: new AppError("unauthorized", "The sidecar no longer takes this token."),
      };
    case CLOSE.tooSlow:
      return { kind: "lost", reason: "This terminal was too slow for what the thread prints." };
    case CLOSE.goingAway:
      return { kind: "lost", reason: "The sidecar stops." };
    default:
      return { kind: "lost", reason: `The connection is lost${cause ? `: ${describe(cause)}` : ""}.` };
  }
}

/** Several addresses of one name that all fail make an error without words. */
function describe(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return errorText(first ?? error);
}
