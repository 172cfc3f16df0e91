/**
 * Which call may write which file, over all threads of this machine: files in one folder, so that it holds while the
 * sidecar is down. A call claims a path by a file of its own with a name that nobody uses again, and only then looks
 * whether another living claim is there. If so, it takes its own back. Of two at once each finds the other, so never
 * both hold the path. A claim whose holder is dead may be removed by anyone, any number of times: no new claim can be
 * meant by its name.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { writeWhole } from "../../shared/whole-file.ts";
import { removeOldParts } from "../folder/old-parts.ts";
import { holderSchema, isLive, type LiveHolder } from "./alive.ts";

const claimSchema = z.object({
  v: z.literal(1),
  /** The real path of the file. */
  path: z.string(),
  threadId: z.string(),
  /** The number by which people call the thread. */
  number: z.number().optional(),
  callId: z.string(),
  sinceMs: z.number(),
  holder: holderSchema,
});
export type Claim = z.infer<typeof claimSchema>;

interface Entry {
  name: string;
  isHeld: boolean;
  claim: Claim;
}

const KEY_LENGTH = 32;
const NAME = /^([0-9a-f]{32})\.(held|wait)\.[0-9a-f-]{36}$/;
/** A call that waits longer has given up, or its runner hangs: it is not the first in the queue any more. */
const MAX_QUEUED_MS = 10 * 60_000;

export class LockFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Takes the path for a call, or puts the call into the queue for it. Whoever waits longest comes first.
   * @param waiter who waits, if it must
   * @returns undefined if the call has it; else the claim in its way
   */
  take(claim: Claim, waiter: LiveHolder, nowMs: number): Claim | undefined {
    const entries = this.#living(claim.path);
    const own = entries.filter((entry) => isSame(entry.claim, claim));
    if (own.some(({ isHeld }) => isHeld)) return undefined;
    const others = entries.filter((entry) => !own.includes(entry));
    // The others see this call as it stands in the folder. If it compared a later time, two calls could each take the
    // other for the first, and both would wait until they give up.
    const queued = own[0]?.claim ?? claim;
    const before = others.find(({ isHeld }) => isHeld) ?? firstBefore(queued, others, nowMs);
    if (!before) {
      const name = this.#write(claim, "held");
      const rival = this.#living(claim.path).find((entry) => entry.isHeld && entry.name !== name);
      if (!rival) {
        this.#remove(own);
        return undefined;
      }
      rmSync(join(this.#folder, name), { force: true });
      return rival.claim;
    }
    if (own.length === 0) this.#write({ ...claim, holder: waiter }, "wait");
    return before.claim;
  }

  /**
   * Takes many paths at once for one call that waits for none of them.
   * @returns the claims in its way, by path; it has all other paths
   */
  takeAll(claims: readonly Claim[]): Map<string, Claim> {
    const keys = new Map(claims.map((claim) => [keyOf(claim.path), claim]));
    const inTheWay = () =>
      this.#living(undefined, (name) => keys.has(name.slice(0, KEY_LENGTH))).filter(
        ({ isHeld, claim }) => isHeld && !claims.some((own) => isSame(own, claim)),
      );
    const before = new Map(inTheWay().map(({ claim }) => [claim.path, claim]));
    const own = claims
      .filter(({ path }) => !before.has(path))
      .map((claim) => ({ claim, name: this.#write(claim, "held") }));
    for (const { claim } of inTheWay()) {
      for (const { name } of own.filter((mine) => mine.claim.path === claim.path)) {
        rmSync(join(this.#folder, name), { force: true });
      }
      before.set(claim.path, claim);
    }
    return before;
  }

  /** Gives back what a call holds, and takes it out of the queue. */
  release({ path, threadId, callId }: Pick<Claim, "path" | "threadId" | "callId">): void {
    this.#remove(this.#read(path).filter(({ claim }) => isSame(claim, { threadId, callId })));
  }

  /** Releases every path of the call, see {@link release}. */
  releaseAll(owner: Pick<Claim, "threadId" | "callId">): void {
    this.#remove(this.#read().filter(({ claim }) => isSame(claim, owner)));
  }

  /** Removes what the dead have left, and tells what a thread holds or waits for. */
  sweep(threadId: string): Claim[] {
    removeOldParts(this.#folder);
    return this.#living().flatMap(({ claim }) => (claim.threadId === threadId ? [claim] : []));
  }

  #living(path?: string, isWanted?: (name: string) => boolean): Entry[] {
    const entries = this.#read(path, isWanted);
    const dead = entries.filter(({ claim }) => !isLive(claim.holder));
    this.#remove(dead);
    return entries.filter((entry) => !dead.includes(entry));
  }

  #read(path?: string, isWanted = isAny): Entry[] {
    const wanted = path === undefined ? "" : `${keyOf(path)}.`;
    return readdirSync(this.#folder).flatMap((name) => {
      const [, , kind] = NAME.exec(name) ?? [];
      if (kind === undefined || !name.startsWith(wanted) || !isWanted(name)) return [];
      const claim = this.#find(name);
      return claim && (path === undefined || claim.path === path)
        ? [{ name, isHeld: kind === "held", claim }]
        : [];
    });
  }

  /** Undefined if it is gone meanwhile, or nothing of ours. */
  #find(name: string): Claim | undefined {
    try {
      return claimSchema.safeParse(JSON.parse(readFileSync(join(this.#folder, name), "utf8"))).data;
    } catch (error) {
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT")
        return undefined;
      throw error;
    }
  }

  /** Whole as soon as it has its name. */
  #write(claim: Claim, kind: "held" | "wait"): string {
    const name = `${keyOf(claim.path)}.${kind}.${randomUUID()}`;
    writeWhole(join(this.#folder, name), `${JSON.stringify(claim)}\n`);
    return name;
  }

  #remove(entries: readonly Entry[]): void {
    for (const { name } of entries) rmSync(join(this.#folder, name), { force: true });
  }
}

function isSame(one: Pick<Claim, "threadId" | "callId">, other: Pick<Claim, "threadId" | "callId">): boolean {
  return one.threadId === other.threadId && one.callId === other.callId;
}

/** Who waits for it longer. That is manners: what keeps two from holding it is the look after the claim. */
function firstBefore(claim: Claim, others: readonly Entry[], nowMs: number): Entry | undefined {
  const isBefore = ({ claim: other }: Entry) =>
    nowMs - other.sinceMs < MAX_QUEUED_MS &&
    (other.sinceMs < claim.sinceMs || (other.sinceMs === claim.sinceMs && other.callId < claim.callId));
  return others.find(isBefore);
}

const isAny = (_name: string) => true;

function keyOf(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, KEY_LENGTH);
}
