/**
 * Decides which hosts a browser may reach. The networks of the machine itself, private ones and the like are closed,
 * unless a setting opens a host in them. Pure but for {@link machineAddresses}.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/** Networks in which no public host is, of IPv4. */
const CLOSED_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];
/** IPv6 has public hosts in this network alone, but for {@link CLOSED_V6}. */
const PUBLIC_V6 = ["2000::", 3] as const;
/** Tunnels lead to IPv4 addresses that nobody has judged. */
const CLOSED_V6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const closed = new BlockList();
for (const [net, prefix] of CLOSED_V4) closed.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of CLOSED_V6) closed.addSubnet(net, prefix, "ipv6");
const publicV6 = new BlockList();
publicV6.addSubnet(...PUBLIC_V6, "ipv6");

/** A host that a setting opens: by its name, by what its name ends with, or by its network; on all ports or on one. */
type Opened =
  | { readonly kind: "name"; readonly name: string; readonly port: number | undefined }
  | { readonly kind: "below"; readonly suffix: string; readonly port: number | undefined }
  | { readonly kind: "network"; readonly list: BlockList; readonly port: number | undefined };

export class OpenedHosts {
  readonly #opened: readonly Opened[];

  /** @param entries as `BROWSER_HOSTS` has them. @throws Error that says what is wrong with one */
  constructor(entries: readonly string[]) {
    this.#opened = entries.map(parseOpened);
  }

  /** @param host as the page names it, without brackets */
  hasName(host: string, port: number): boolean {
    const name = host.toLowerCase().replace(/\.$/, "");
    return this.#opened.some(
      (one) =>
        (one.port === undefined || one.port === port) &&
        ((one.kind === "name" && one.name === name) || (one.kind === "below" && name.endsWith(one.suffix))),
    );
  }

  hasAddress(address: string, port: number): boolean {
    const plain = unmapped(address);
    return this.#opened.some(
      (one) =>
        one.kind === "network" &&
        (one.port === undefined || one.port === port) &&
        one.list.check(plain, isIPv4(plain) ? "ipv4" : "ipv6"),
    );
  }
}

/**
 * Says why a browser may not connect to an address.
 * @param own the machine's own addresses
 * @returns the second half of a sentence; undefined if it may
 */
export function whyClosed(address: string, own: ReadonlySet<string>): string | undefined {
  const plain = unmapped(address);
  if (isIP(plain) === 0) return "is no address";
  if (own.has(plain)) return "is an address of this machine";
  if (isIPv4(plain)) return closed.check(plain, "ipv4") ? "is in a network that is not public" : undefined;
  const isPublic = publicV6.check(plain, "ipv6") && !closed.check(plain, "ipv6");
  return isPublic ? undefined : "is in a network that is not public";
}

/** The addresses of the machine's network interfaces, public ones too. */
export function machineAddresses(): ReadonlySet<string> {
  return new Set(
    Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).map(({ address }) => unmapped(address)),
    ),
  );
}

/** An IPv4 address that is written as IPv6 (`::ffff:7f00:1`, `64:ff9b::10.0.0.1`) is judged as what it is. */
function unmapped(address: string): string {
  const plain = address.split("%", 1)[0] ?? "";
  if (!isIPv6(plain)) return plain;
  const { hostname } = new URL(`http://[${plain}]/`);
  const [, high, low] = /^\[(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname.slice(1, -1);
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
}

function parseOpened(entry: string): Opened {
  const { place, port } = splitPort(entry.toLowerCase());
  const [host = "", prefix, ...more] = place.split("/");
  if (more.length > 0 || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) throw notOpened(entry);
  const family = isIP(host);
  if (family === 0) {
    if (prefix !== undefined || !/^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(host))
      throw notOpened(entry);
    if (host.startsWith("*.")) return { kind: "below", suffix: host.slice(1), port };
    return { kind: "name", name: host, port };
  }
  const bits = family === 4 ? 32 : 128;
  const size = prefix === undefined ? bits : Number(prefix);
  if (size > bits) throw notOpened(entry);
  const list = new BlockList();
  list.addSubnet(host, size, family === 4 ? "ipv4" : "ipv6");
  return { kind: "network", list, port };
}

/** `host:port`, `[address]:port`; an IPv6 address without brackets has no port behind it. */
function splitPort(entry: string): { place: string; port: number | undefined } {
  const [, bracketed, rest = ""] = /^\[([^\]]*)\](.*)$/.exec(entry) ?? [];
  const [host = "", digits, ...more] =
    bracketed === undefined ? entry.split(":") : [bracketed, ...rest.split(":").slice(1)];
  if (bracketed === undefined && more.length > 0) return { place: entry, port: undefined };
  if (digits === undefined && rest === "") return { place: host, port: undefined };
  const port = /^\d{1,5}$/.test(digits ?? "") ? Number(digits) : 0;
  if (port < 1 || port > 65_535 || more.length > 0) throw notOpened(entry);
  return { place: host, port };
}

function notOpened(entry: string): Error {
  return new Error(
    `${JSON.stringify(entry)} is neither a host (wiki.lan, localhost:3000, *.lan) nor a network (10.1.0.0/16, [fd00::1]:80)`,
  );
}
