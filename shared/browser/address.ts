/** Web addresses that people and agents give a browser. Pure. */
import { isIP } from "node:net";
import { AppError } from "../errors.ts";

export const MAX_ADDRESS_CHARACTERS = 2_000;
/** These have no `//`, so a host with a port (`localhost:3000`) looks like them. */
const BARE_SCHEME = /^(?:about|blob|chrome|data|file|javascript|mailto|view-source):/i;

/**
 * Reads an address as people type it: `example.org/page`, `localhost:3000`, `https://example.org`. Without a scheme it
 * is `https`, and `http` for this machine's name and for numbers.
 * @returns the address as browsers write it
 * @throws AppError `invalid_request`, which names the field `url`
 */
export function parseAddress(text: string): URL {
  const typed = text.trim();
  if (typed === "") throw refuse("must not be empty");
  if (typed.length > MAX_ADDRESS_CHARACTERS)
    throw refuse(`must be at most ${MAX_ADDRESS_CHARACTERS} characters`);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(typed)?.[1] ?? BARE_SCHEME.exec(typed)?.[0].slice(0, -1);
  if (scheme !== undefined && !/^https?$/i.test(scheme))
    throw refuse(`must begin with http:// or https://, not with ${scheme.toLowerCase()}:`);
  const url = scheme === undefined ? withScheme(typed) : tryParse(typed);
  if (url === undefined || url.hostname === "") throw refuse(`is no address of a web page: ${clip(typed)}`);
  if (url.username !== "" || url.password !== "")
    throw refuse("must not hold a name or a password: people would read them in the thread");
  return url;
}

/** An IPv6 address without its brackets. */
export function hostOf({ hostname }: Pick<URL, "hostname">): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** The port that is connected to; a URL leaves out its scheme's usual one. */
export function portOf({ port, protocol }: Pick<URL, "port" | "protocol">): number {
  if (port !== "") return Number(port);
  return /^(?:http|ws):$/.test(protocol) ? 80 : 443;
}

/** A host with its port, as it is connected to. */
export function placeOf(url: URL): string {
  return `${hostOf(url)}:${portOf(url)}`;
}

function withScheme(typed: string): URL | undefined {
  const url = tryParse(`https://${typed}`);
  if (url === undefined) return undefined;
  const host = hostOf(url);
  const isPlain = isIP(host) !== 0 || host === "localhost" || host.endsWith(".localhost");
  return isPlain ? tryParse(`http://${typed}`) : url;
}

function tryParse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined; // no address
  }
}

function clip(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function refuse(why: string): AppError {
  return new AppError("invalid_request", `url: ${why}.`);
}
