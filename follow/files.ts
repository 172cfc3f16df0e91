/** A file, or all that fit a glob, as they come and go. */
import { stat } from "node:fs/promises";
import { findFiles, isGlob } from "../shared/follow/glob.ts";
import { MAX_FOLLOWED_FILES, WALK_ENTRIES } from "../shared/follow/spec.ts";
import { pause } from "../shared/lifecycle.ts";
import { FileTail, type Place } from "./file-tail.ts";
import type { Sink, Source } from "./source.ts";

/** How often a glob is looked up again. */
const GLOB_MS = 2_000;
/** How long a file that is gone may still be made again. */
const GONE_MS = 60_000;
/** How many places of files are kept: under a new name, a file is read on from its place. */
const MAX_KNOWN = 500;

interface Followed {
  tail: FileTail;
  /** When it was last in its folder. */
  seenAt: number;
}

export class FilesSource implements Source {
  readonly ended = undefined;
  readonly #pattern: string;
  readonly #sink: Sink;
  readonly #followed = new Map<string, Followed>();
  readonly #known = new Map<string, Place>();
  #globbedAt = Number.NEGATIVE_INFINITY;
  #isTooMany = false;

  constructor(pattern: string, sink: Sink) {
    this.#pattern = pattern;
    this.#sink = sink;
  }

  /** Begins with the last lines of each. */
  async begin(lines: number, now: number): Promise<void> {
    this.#globbedAt = now;
    const paths = await this.#find();
    const share = Math.ceil(lines / Math.max(1, paths.length));
    for (const path of paths) {
      const tail = new FileTail(path, this.#known);
      await tail.begin(share, now);
      this.#followed.set(path, { tail, seenAt: now });
    }
  }

  async look(now: number): Promise<boolean> {
    if (isGlob(this.#pattern) && now - this.#globbedAt >= GLOB_MS) await this.#lookForFiles(now);
    let hasMore = false;
    const isOneFile = !isGlob(this.#pattern);
    for (const [path, { tail }] of this.#followed) {
      const found = await tail.look(now);
      if (found.lines.length > 0)
        this.#sink.take(found.lines.map((text) => ({ from: isOneFile ? "" : path, text })));
      if (found.remark !== undefined) this.#sink.say(found.remark);
      hasMore ||= found.hasMore;
    }
    return hasMore;
  }

  /** Nothing tells of news in files wherever they lie. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    return pause(ms, signal);
  }

  async close(): Promise<void> {
    for (const { tail } of this.#followed.values()) await tail.close();
  }

  async #lookForFiles(now: number): Promise<void> {
    this.#globbedAt = now;
    const paths = new Set(await this.#find());
    for (const [path, { tail, seenAt }] of this.#followed) {
      if (paths.has(path)) this.#followed.set(path, { tail, seenAt: now });
      else if (now - seenAt >= GONE_MS) {
        await tail.close();
        this.#followed.delete(path);
      }
    }
    for (const path of paths) {
      if (this.#followed.has(path)) continue;
      if (this.#followed.size >= MAX_FOLLOWED_FILES) {
        if (!this.#isTooMany)
          this.#sink.say(`more than ${MAX_FOLLOWED_FILES} files fit; the newest are left out`);
        this.#isTooMany = true;
        break;
      }
      this.#followed.set(path, { tail: new FileTail(path, this.#known), seenAt: now });
    }
    for (const id of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) break;
      this.#known.delete(id);
    }
  }

  /** The paths that fit now. */
  async #find(): Promise<string[]> {
    if (!isGlob(this.#pattern) || (await exists(this.#pattern))) return [this.#pattern];
    const bounds = { maxEntries: WALK_ENTRIES, maxFiles: MAX_FOLLOWED_FILES + 1 };
    return (await findFiles(process.cwd(), this.#pattern, bounds)).files;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
