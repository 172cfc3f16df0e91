/** Something about each address that calls, bounded: nobody can fill the memory by coming from many. */
import { isIPv6 } from "node:net";

export class Addresses<V> {
  readonly #values = new Map<string, V>();
  readonly #maxAddresses: number;
  readonly #make: () => V;
  readonly #onForgotten: (value: V) => void;

  /** Beyond `maxAddresses` the one that was quiet for longest is forgotten. */
  constructor(maxAddresses: number, make: () => V, onForgotten: (value: V) => void = () => undefined) {
    this.#maxAddresses = maxAddresses;
    this.#make = make;
    this.#onForgotten = onForgotten;
  }

  get(address = ""): V {
    const key = networkOf(address);
    const value = this.#values.get(key) ?? this.#make();
    this.#values.delete(key);
    this.#values.set(key, value);
    const [quietest] = this.#values;
    if (this.#values.size > this.#maxAddresses && quietest) {
      this.#values.delete(quietest[0]);
      this.#onForgotten(quietest[1]);
    }
    return value;
  }

  entries(): [network: string, value: V][] {
    return [...this.#values];
  }

  clear(): void {
    this.#values.clear();
  }
}

/** What one caller has: an IPv4 address, or an IPv6 network of 64 bits, in which everybody may choose addresses. */
export function networkOf(address: string): string {
  const ipv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  const [plain = ""] = address.split("%"); // without the interface
  if (!isIPv6(plain)) return address;
  const [left = "", right] = plain.split("::");
  const groups = left === "" ? [] : left.split(":");
  if (right !== undefined) {
    const after = right === "" ? [] : right.split(":");
    // Two groups of an address may be written as an IPv4 address, always the last two.
    const afterCount = after.length + (right.includes(".") ? 1 : 0);
    while (groups.length + afterCount < 8) groups.push("0");
    groups.push(...after);
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
