/** Who has shown that they may come in: set where a request is let in, asked where connections are bounded. */
import type { Socket } from "node:net";

const known = new WeakSet<Socket>();

/** A request on this connection had the token or a console session: it is not closed to make room for others. */
export function markKnown(socket: Socket): void {
  known.add(socket);
}

export function isKnown(socket: Socket): boolean {
  return known.has(socket);
}
