/** Finds the address of a host and judges it; what is connected to is what was judged. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { withDeadline } from "../lifecycle.ts";
import { machineAddresses, type OpenedHosts, whyClosed } from "./hosts.ts";

const LOOKUP_MS = 10_000;
/** How many of a name's addresses are tried. */
const MAX_ADDRESSES = 4;

/** A host that can't be reached from here, or may not be; `message` is a sentence for a person. */
export class HostError extends Error {
  /** It is there, and closed. */
  readonly isClosed: boolean;

  constructor(message: string, isClosed: boolean) {
    super(message);
    this.name = "HostError";
    this.isClosed = isClosed;
  }
}

/**
 * A name that leads to a closed address among others is closed: which of them is taken is nobody's choice.
 * @param host without brackets
 * @returns addresses to connect to, the first one first
 * @throws HostError
 */
export async function resolveHost(host: string, port: number, opened: OpenedHosts): Promise<string[]> {
  const addresses = isIP(host) ? [host] : await addressesOf(host);
  if (!opened.hasName(host, port)) {
    const own = machineAddresses();
    for (const address of addresses) {
      const why = opened.hasAddress(address, port) ? undefined : whyClosed(address, own);
      if (why === undefined) continue;
      const where = address === host ? host : `${host} leads to ${address}, which`;
      throw new HostError(`${where} ${why}; the setting BROWSER_HOSTS can open it`, true);
    }
  }
  return addresses.slice(0, MAX_ADDRESSES);
}

async function addressesOf(host: string): Promise<string[]> {
  try {
    const found = await withDeadline(lookup(host, { all: true }), LOOKUP_MS, `the look-up of ${host}`);
    if (found.length > 0) return found.map(({ address }) => address);
  } catch (error) {
    const { code = "no answer" } = error as NodeJS.ErrnoException;
    throw new HostError(`${host} does not resolve (${code})`, false);
  }
  throw new HostError(`${host} does not resolve`, false);
}
