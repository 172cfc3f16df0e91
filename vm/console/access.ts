/** Who may use the console: pure checks of host, origin and cookie. */

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

/** Reads: what says that it comes from elsewhere is refused. `none` is a person typing the address. */
export function isOwnRead(request: Provenance): boolean {
  if (request.origin !== undefined && !isOwnOrigin(request)) return false;
  return request.fetchSite === undefined || ["same-origin", "none"].includes(request.fetchSite);
}

/** Changes, and sockets: the origin must be there and be ours. */
export function isOwnWrite(request: Provenance): boolean {
  if (!isOwnOrigin(request)) return false;
  return request.fetchSite === undefined || request.fetchSite === "same-origin";
}

export function provenanceOf(headers: Record<string, string | string[] | undefined>): Provenance {
  const one = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  };
  return { host: one("host"), origin: one("origin"), fetchSite: one("sec-fetch-site") };
}

export function findCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? "").split(";")) {
    const separator = pair.indexOf("=");
    if (separator !== -1 && pair.slice(0, separator).trim() === name) return pair.slice(separator + 1).trim();
  }
  return undefined;
}
