/** Finds whose share of the request budget a thread takes: that of whoever began its family. */
import type { ThreadId } from "../../shared/ids.ts";
import { parsePrincipal, type Source } from "../../shared/principal.ts";

/** Most threads of which it is remembered who began them; the oldest is forgotten first. */
const MAX_KNOWN = 10_000;
/** An agent's family is never so deep. */
const MAX_DEPTH = 100;
/** The relay does not know who made a job, so all threads that jobs begin take one share together. */
const JOBS = "job";

export class Owners {
  /** Who began each thread, by the thread's own id. */
  readonly #makers = new Map<string, Source>();

  /** Remembers who began a thread, also once that is over: its children may go on. */
  note(ownId: ThreadId, createdBy: Source): void {
    this.#makers.delete(ownId);
    this.#makers.set(ownId, createdBy);
    const [oldest] = this.#makers.keys();
    if (this.#makers.size > MAX_KNOWN && oldest !== undefined) this.#makers.delete(oldest);
  }

  /** @param createdBy who began the thread; an agent stands for whoever began it */
  of(createdBy: Source): string {
    let source = createdBy;
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const maker = parsePrincipal(source);
      if (maker.kind === "job") return JOBS;
      const above = maker.kind === "thread" ? this.#makers.get(maker.threadId) : undefined;
      if (above === undefined) return source;
      source = above;
    }
    return source;
  }
}
