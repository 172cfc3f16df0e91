/** Who has shown that they may come in: set where a request is let in, asked where connections are bounded. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

const known = new WeakSet<Socket | IncomingMessage>();

/**
 * The request had the token or a console session. Its connection is not closed to make room for others, and its line in
 * the log is not one that anybody may cause.
 */
export function markKnown(request: IncomingMessage): void {
  known.add(request).add(request.socket);
}

/** @param who a request, or a connection on which there was one */
export function isKnown(who: Socket | IncomingMessage): boolean {
  return known.has(who);
}
