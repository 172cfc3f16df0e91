/** What a thread's session in tmux and its processes are called. */
import { randomUUID } from "node:crypto";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { readProc } from "../processes/processes.ts";

const MARKER_NAME = "THREADMUX_THREAD";
const PREFIX = "thread-";

/** tmux's name for a thread's session. */
export function sessionName(threadId: ThreadId): string {
  return `${PREFIX}${threadId}`;
}

/** The thread of one of our sessions. */
export function threadIdOf(session: string): ThreadId {
  return knownThreadId.parse(session.startsWith(PREFIX) ? session.slice(PREFIX.length) : session);
}

/** A new `NAME=value` for the environment of everything that one thread starts: by it its processes are known. */
export function newMarker(): string {
  return `${MARKER_NAME}=${randomUUID()}`;
}

/** The marker in a process's environment; undefined if the process has ended. */
export function findMarker(pid: number): string | undefined {
  return new RegExp(`(?:^|\\0)(${MARKER_NAME}=[^\\0]+)`).exec(readProc(pid, "environ") ?? "")?.[1];
}
