/** What a branch takes from its parent: the conversation up to its point, with all that those lines name. */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type BranchPoint, PointFinder, type WantedPoint } from "../../shared/agent/branch-point.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { findEvent } from "../../shared/agent/find-event.ts";
import { THREAD_FILES, threadPath } from "../../shared/agent/paths.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { readBytes } from "../streams/growing-file.ts";
import { readLines } from "../streams/lines.ts";

const SLICE_BYTES = 64 * 1024;

/** A place in what a thread knows: in its own origin, or in its transcript. */
interface Place {
  file: "origin" | "transcript";
  bytes: number;
  /** How many of the named files belong to the part before it. */
  named: number;
}

export interface Prepared {
  /** Is to become the branch's. */
  folder: string;
  point: BranchPoint<unknown>;
}

/** Prepared folders, made beside those of threads: whoever finds one at a start may remove it. */
export class Origins {
  readonly #root: string;

  constructor(stateDir: string) {
    this.#root = join(stateDir, "branches");
    rmSync(this.#root, { recursive: true, force: true });
  }

  /**
   * Copies a thread's conversation up to a point; all of it is on the disk when this resolves.
   * @param end so far the thread's transcript counts
   * @throws AppError `not_found`, `invalid_request`
   */
  async prepare(
    parent: { threadId: ThreadId; folder: string; end: number },
    wanted: WantedPoint,
  ): Promise<Prepared> {
    const { point, named } = await findPoint(parent, wanted);
    const folder = join(this.#root, randomUUID());
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      await copyConversation(parent.folder, point.end, threadPath(folder, "origin"));
      for (const path of named.slice(0, point.end.named)) keep(join(parent.folder, path), join(folder, path));
      return { folder, point };
    } catch (error) {
      this.discard({ folder });
      throw error;
    }
  }

  discard({ folder }: Pick<Prepared, "folder">): void {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function findPoint(
  { threadId, folder, end }: { threadId: ThreadId; folder: string; end: number },
  wanted: WantedPoint,
): Promise<{ point: BranchPoint<Place>; named: string[] }> {
  const finder = new PointFinder<Place>(wanted, threadId);
  const named = new Set<string>();
  for (const file of ["origin", "transcript"] as const) {
    for (const lines of readLines(threadPath(folder, file), 0, SLICE_BYTES)) {
      for (const { text, byte, bytes } of lines) {
        if (file === "transcript" && byte >= end) break;
        const event = findEvent(text);
        if (!event) continue;
        for (const path of filesOf(event)) named.add(path);
        finder.take(event, { file, bytes: byte + bytes, named: named.size });
      }
      await setImmediate(); // others are served meanwhile
    }
  }
  if (finder.found) return { point: finder.found, named: [...named] };
  if (finder.isUnread) {
    const field = wanted.seq === undefined ? "messageId" : "seq";
    throw new AppError("invalid_request", `${field}: the agent has not read this message yet.`);
  }
  if (wanted.messageId !== undefined) {
    throw new AppError(
      "not_found",
      `messageId: nobody has said ${JSON.stringify(wanted.messageId)} in this thread.`,
    );
  }
  throw new AppError("invalid_request", "The agent has heard and said nothing yet that a branch could know.");
}

/** Files in the thread's folder that an event names. */
function filesOf(event: ThreadEvent): string[] {
  const blobs = Object.values(event.blobs ?? {}).map(({ sha256 }) => sha256);
  const content = "content" in event && event.type === "user_message" ? event.content : [];
  const attached = content.flatMap((block) => ("uri" in block ? [block.uri] : []));
  return [
    ...blobs.filter((name) => /^[0-9a-f]{64}$/.test(name)).map((name) => join(THREAD_FILES.blobs, name)),
    ...attached.filter((uri) => uri === join(THREAD_FILES.attachments, basename(uri))),
  ];
}

/** @param end where the branch's part of the parent's own origin, or of its transcript, ends */
async function copyConversation(folder: string, end: Place, target: string): Promise<void> {
  const file = await open(target, "wx", 0o600);
  try {
    for (const name of ["origin", "transcript"] as const) {
      const source = threadPath(folder, name);
      const size = statSync(source, { throwIfNoEntry: false })?.size ?? 0;
      const length = name === end.file ? end.bytes : size;
      for (let position = 0; position < length; ) {
        const bytes = await readBytes(source, {
          position,
          length: Math.min(length - position, 1024 * 1024),
          end: length,
        });
        if (bytes.length === 0) throw new Error(`${source} has become shorter`);
        await file.write(bytes);
        position += bytes.length;
      }
      if (name === end.file) break;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Such files never change, so both threads may have the same. One that is gone is gone for both. */
function keep(source: string, target: string): void {
  if (!existsSync(source)) return;
  mkdirSync(join(target, ".."), { recursive: true, mode: 0o700 });
  try {
    linkSync(source, target);
  } catch {
    copyFileSync(source, target);
  }
  const fd = openSync(target, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
