/** Tells a thread's browser what to do. */
import type { Socket } from "node:net";
import type { PageText } from "../../shared/browser/page-text.ts";
import { OUTCOME_UNKNOWN } from "../../shared/browser/spec.ts";
import { type BrowserState, type DoorCall, doorReplySchema } from "../../shared/browser/state.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { withDeadline } from "../../shared/lifecycle.ts";
import type { BrowserFolders } from "./folders.ts";

/** Above what the browser itself waits for a page. */
const SLACK_MS = 10_000;
const GREETING_MS = 5_000;
/** What a browser shows after it was told something; with the page's text, if that was asked for and is there. */
export interface BrowserAnswer {
  state: BrowserState;
  text?: PageText | undefined;
}

const MAX_REPLY_BYTES = 256 * 1024;

/**
 * Connects, and waits until the browser greets: the kernel also takes connections for a program that is dying or stopped,
 * which reads nothing any more.
 * @throws AppError `unavailable` if nobody is there; then nothing was asked
 */
export async function connectToDoor(folders: BrowserFolders, threadId: ThreadId): Promise<Socket> {
  let socket: Socket | undefined;
  try {
    socket = await folders.connect(threadId);
    await withDeadline(greeted(socket), GREETING_MS, "the browser's greeting");
    return socket;
  } catch (cause) {
    socket?.destroy();
    throw new AppError("unavailable", "The browser is starting, or does not answer; try again.", { cause });
  }
}

function greeted(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      socket.off("readable", settle).off("close", fail).off("error", fail);
      if (error) reject(error);
      else resolve();
    };
    const fail = (error: unknown) => settle(error instanceof Error ? error : new Error("it hung up"));
    socket.once("readable", settle).once("close", fail).once("error", fail);
  });
}

/**
 * @param socket is ended
 * @throws AppError `invalid_request`, `not_found`, `unavailable` if nothing was done, `unknown_outcome` if there was no
 * answer
 */
export async function callDoor(socket: Socket, call: DoorCall): Promise<BrowserAnswer> {
  const text = await ask(socket, `${JSON.stringify(call)}\n`, call.waitMs + SLACK_MS);
  const reply = doorReplySchema.safeParse(text).data;
  if (!reply) throw new AppError("unknown_outcome", OUTCOME_UNKNOWN);
  if ("error" in reply) throw new AppError(reply.code, reply.error);
  return reply;
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
