/** Who may use the console: pure checks of host, origin and the session's secret. */
import { SESSION_PROTOCOL, SESSION_SCHEME } from "../../shared/attach.ts";

/** What a browser says about where a request comes from; a script or program elsewhere may say none of it. */
export interface Provenance {
  host: string | undefined;
  origin: string | undefined;
  /** `Sec-Fetch-Site`. */
  fetchSite: string | undefined;
}

/**
 * Where the sidecar listens on loopback, requests must name it so: a foreign name that was rebound to 127.0.0.1 does
 * not. The port is free, since tunnels (`ssh -L`, `fly proxy`) choose their own.
 */
export function isLoopbackName(host: string | undefined): boolean {
  const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d+)?$/i.exec(host ?? "")?.[1]?.toLowerCase();
  return (
    name !== undefined && (/^127\.\d+\.\d+\.\d+$/.test(name) || name === "localhost" || name === "[::1]")
  );
}

/** The origin is this very host and port; http or https, since a proxy in front may speak the other one. */
export function isOwnOrigin({ origin, host }: Provenance): boolean {
  if (origin === undefined || host === undefined) return false;
  const own = host.toLowerCase();
  return origin === `http://${own}` || origin === `https://${own}`;
}

/** Requests of the page: one that says that it comes from elsewhere is refused. */
export function isOwnRequest(request: Provenance): boolean {
  if (request.origin !== undefined && !isOwnOrigin(request)) return false;
  return request.fetchSite === undefined || request.fetchSite === "same-origin";
}

/** Sockets and requests that change something: browsers always send an origin with them, so it must be ours. */
export function isOwnWrite(request: Provenance): boolean {
  return request.origin !== undefined && isOwnRequest(request);
}

export function provenanceOf(headers: Record<string, string | string[] | undefined>): Provenance {
  const one = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  };
  return { host: one("host"), origin: one("origin"), fetchSite: one("sec-fetch-site") };
}

/** The secret in an `Authorization` header of the page's. */
export function findSecretInHeader(authorization: string | undefined): string | undefined {
  const [scheme, secret, ...rest] = (authorization ?? "").split(" ");
  return scheme === SESSION_SCHEME && rest.length === 0 ? secret : undefined;
}

/** The secret among the subprotocols of a socket of the page's. */
export function findSecretInProtocols(protocols: string | undefined): string | undefined {
  const names = (protocols ?? "").split(",").map((name) => name.trim());
  return names.find((name) => name.startsWith(SESSION_PROTOCOL))?.slice(SESSION_PROTOCOL.length);
}
