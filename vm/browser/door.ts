/** Tells a thread's browser what to do. */
import type { Socket } from "node:net";
import type { BrowserOp } from "../../shared/browser/ops.ts";
import { type BrowserState, doorReplySchema } from "../../shared/browser/state.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { BrowserFolders } from "./folders.ts";

/** Above what the browser itself waits for a page. */
const SLACK_MS = 10_000;
const MAX_REPLY_BYTES = 256 * 1024;

/**
 * @param waitMs the browser answers by then, with its page on the way if it takes longer
 * @throws AppError `invalid_request`, `not_found`, `unavailable`
 */
export async function callDoor(
  folders: BrowserFolders,
  threadId: ThreadId,
  op: BrowserOp,
  waitMs: number,
): Promise<BrowserState> {
  let socket: Socket;
  try {
    socket = await folders.connect(threadId);
  } catch (cause) {
    throw new AppError("unavailable", "The browser is starting; try again.", { cause });
  }
  const reply = doorReplySchema.safeParse(
    await ask(socket, `${JSON.stringify({ op, waitMs })}\n`, waitMs + SLACK_MS),
  ).data;
  if (!reply)
    throw new AppError("unavailable", "The browser has ended before it could answer; it starts anew.");
  if ("error" in reply) throw new AppError(reply.code, reply.error);
  return reply.state;
}

/** @returns undefined if there is no whole answer */
function ask(socket: Socket, line: string, timeoutMs: number): Promise<unknown> {
  return new Promise((resolve) => {
    let text = "";
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.setEncoding("utf8");
    socket.on("data", (part: string) => {
      text += part;
      if (text.length > MAX_REPLY_BYTES) socket.destroy();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(text));
      } catch {
        resolve(undefined); // it broke off
      }
    });
    socket.write(line);
  });
}
