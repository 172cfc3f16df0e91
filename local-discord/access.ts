/** Who may talk to the page: pure checks of host, origin and key. */
import { createHash, timingSafeEqual } from "node:crypto";

/** The same time whatever the guess, also for guesses of another length. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** Requests must name this server: a foreign name that was rebound to 127.0.0.1 does not. */
export function isOwnHost(host: string | undefined, port: number): boolean {
  return host === `127.0.0.1:${port}` || host === `localhost:${port}` || host === `[::1]:${port}`;
}

export type PageRequest = {
  host: string | undefined;
  origin: string | undefined;
  fetchSite: string | undefined;
};

/** Reads: a browser that says where the request comes from must say "from this page". */
export function isOwnRead(request: PageRequest): boolean {
  if (request.origin !== undefined && !isOwnOrigin(request)) return false;
  return request.fetchSite === undefined || request.fetchSite === "same-origin";
}

/** Writes: the origin must be there and be ours. */
export function isOwnWrite(request: PageRequest): boolean {
  if (!isOwnOrigin(request)) return false;
  return request.fetchSite === undefined || request.fetchSite === "same-origin";
}

function isOwnOrigin({ origin, host }: PageRequest): boolean {
  return origin !== undefined && host !== undefined && origin === `http://${host}`;
}
