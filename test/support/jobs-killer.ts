/** A sidecar that is killed at a write to its database, as far as jobs can see it. */
import type { Store } from "../../vm/store/store.ts";

/** The sidecar dies at its n-th write to the database, before it or right after it. */
export class Killer {
  readonly #at: number;
  readonly #isAfter: boolean;
  writes = 0;
  isDead = false;

  constructor(at: number, isAfter: boolean) {
    this.#at = at;
    this.#isAfter = isAfter;
  }

  wrap(store: Store): Store {
    const tables = {
      jobs: this.#table(store.jobs),
      jobRuns: this.#table(store.jobRuns),
      threads: this.#table(store.threads),
      hookRequests: this.#table(store.hookRequests),
    };
    const transaction = <T>(work: () => T) => this.#step(() => store.transaction(work));
    return { ...store, ...tables, transaction };
  }

  #table<T extends object>(table: T): T {
    return new Proxy(table, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        const call = (...args: unknown[]) => Reflect.apply(member, target, args) as unknown;
        return /^(insert|update|set|take|delete|add|passOn)/.test(String(name))
          ? (...args: unknown[]) => this.#step(() => call(...args))
          : (...args: unknown[]) => {
              if (this.isDead) throw new Error("killed");
              return call(...args);
            };
      },
    });
  }

  #step<T>(write: () => T): T {
    if (this.isDead) throw new Error("killed");
    this.writes += 1;
    const isHere = this.writes === this.#at;
    if (isHere) this.isDead = !this.#isAfter;
    if (this.isDead) throw new Error("killed");
    const done = write();
    if (isHere) this.isDead = true;
    if (this.isDead) throw new Error("killed");
    return done;
  }
}
