/** What connections may hold: descriptors, and bytes that the other side does not take. */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { isKnown } from "../callers/known.ts";

export interface ConnectionLimits {
  maxConnections: number;
  /** A write of which nothing is taken for so long ends its connection. */
  stallTimeoutMs: number;
  /** What may wait to be taken over all connections; beyond it the one that holds most ends. */
  maxUnreadBytes: number;
  lookIntervalMs: number;
}

/** Kept for the database, logs, tmux and the programs that are started. */
const RESERVED_DESCRIPTORS = 100;
const MAX_CONNECTIONS = 1_000;

export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: maxConnectionsOf(readFileSync("/proc/self/limits", "utf8")),
  stallTimeoutMs: 30_000,
  maxUnreadBytes: 128 * 1024 * 1024,
  lookIntervalMs: 5_000,
};

/** Holds the connections of a server to the limits, for as long as it listens. */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  /** Oldest first, with how much was taken when something was taken last. */
  const sockets = new Map<Socket, { takenBytes: number; at: number }>();
  server.on("connection", (socket: Socket) => {
    if (sockets.has(socket)) return; // one that goes through the server again
    sockets.set(socket, { takenBytes: 0, at: performance.now() });
    socket.once("close", () => sockets.delete(socket));
    if (sockets.size <= limits.maxConnections) return;
    const oldest = [...sockets.keys()].find((one) => !isKnown(one)) ?? socket;
    sockets.delete(oldest);
    oldest.destroy();
  });
  const look = () => {
    const now = performance.now();
    let unreadBytes = 0;
    for (const [socket, last] of sockets) {
      const takenBytes = countTaken(socket);
      if (socket.writableLength === 0 || takenBytes > last.takenBytes)
        Object.assign(last, { takenBytes, at: now });
      if (now - last.at >= limits.stallTimeoutMs) socket.destroy();
      else unreadBytes += socket.writableLength;
    }
    if (unreadBytes <= limits.maxUnreadBytes) return;
    for (const socket of [...sockets.keys()].sort(
      (one, other) => other.writableLength - one.writableLength,
    )) {
      if (unreadBytes <= limits.maxUnreadBytes) return;
      unreadBytes -= socket.writableLength;
      socket.destroy();
    }
  };
  const timer = setInterval(look, limits.lookIntervalMs);
  timer.unref();
  server.once("close", () => clearInterval(timer));
}

/**
 * What the kernel has taken. A socket itself only counts whole writes, and one write may be a whole answer: Node's own
 * timeout of sockets asks the handle for the rest too.
 */
function countTaken(socket: Socket): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = Object(Reflect.get(socket, "_handle")) as Record<
    string,
    number
  >;
  return bytesWritten - writeQueueSize;
}

/**
 * All descriptors but the reserve; half of them if they are few.
 * @param limits of a process, as /proc tells them
 */
export function maxConnectionsOf(limits: string): number {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  const descriptors = soft === undefined ? MAX_CONNECTIONS : Number(soft);
  const reserved = Math.min(RESERVED_DESCRIPTORS, Math.ceil(descriptors / 2));
  return Math.min(MAX_CONNECTIONS, descriptors - reserved);
}
