/** What is kept of a thread's runs: what its program is told, and one file a run with the exit code; and its log. */
import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type * as z from "zod";
import {
  type FollowSpec,
  type Follows,
  specSchema,
  type View,
  viewSchema,
} from "../../shared/follow/spec.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { findOtherNames } from "../../shared/sandbox/other-names.ts";
import type { TerminalLink } from "../../shared/terminal-link.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { diskFull } from "../streams/disk.ts";
import { linksIn } from "../streams/link-addresses.ts";
import { readLogTail } from "../streams/log-file.ts";
import { Logs } from "../streams/logs.ts";
import { isInside } from "./directory.ts";
import type { RunEnd } from "./ending.ts";

/** Links are looked for no further back. */
const MAX_LINK_BYTES = 64 * 1024;

/** The unit in which `stat` counts blocks. */
const BLOCK_BYTES = 512;

export class ThreadFiles {
  /** The threads' logs and their writers. */
  readonly logs: Logs;
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
    this.logs = new Logs(stateDir);
  }

  /** Whether a mount, one that was made after the start too, shows the state folder at a path or above it. */
  isShownIn(path: string): boolean {
    return findOtherNames(realpathSync(this.#stateDir)).some((other) => isInside(other.path, path));
  }

  /** Holds what the wrappers leave. */
  get runsFolder(): string {
    return join(this.#stateDir, "runs");
  }

  runEnd(threadId: ThreadId, runNumber: number): string {
    return join(this.runsFolder, `${threadId}.${runNumber}`);
  }

  /**
   * Keeps what a run is told, a command or a prompt, where its program reads it: arguments are in the list of
   * processes, which everybody on the machine can read. It stays until the next run, or until the thread is removed.
   * @returns the file, readable by nobody else.
   * @throws AppError `unavailable` if the disk is full.
   */
  writeProgram(threadId: ThreadId, text: string): string {
    const file = join(this.runsFolder, `${threadId}.program`);
    rmSync(file, { force: true }); // what an earlier run reads stays what it was
    try {
      writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "ENOSPC" ? diskFull(error) : error;
    }
    return file;
  }

  /**
   * Keeps what the program that follows logs is told.
   * @returns the file with all of it.
   * @throws AppError `unavailable` if the disk is full.
   */
  writeFollow(
    threadId: ThreadId,
    { service, source, lines, ...view }: Follows,
    maxHeldBytes: number,
  ): string {
    this.writeView(threadId, view);
    const spec: FollowSpec = {
      service,
      source,
      lines,
      viewFile: this.#view(threadId),
      heldFile: this.#held(threadId),
      maxHeldBytes,
    };
    return this.writeProgram(threadId, JSON.stringify(spec));
  }

  /**
   * Writes nothing if the file says so already: a start must work on a full disk.
   * @throws AppError `unavailable` if the disk is full.
   */
  writeView(threadId: ThreadId, { paused, grep }: View): void {
    const text = JSON.stringify({ paused, grep });
    if (readIfThere(this.#view(threadId)) === text) return;
    try {
      writeWhole(this.#view(threadId), text);
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "ENOSPC" ? diskFull(error) : error;
    }
  }

  /** Finds out from what its program was told which logs a thread follows; undefined if it follows none. */
  findFollow(threadId: ThreadId): Follows | undefined {
    const spec = parseAs(specSchema, this.findProgram(threadId));
    const view = parseAs(viewSchema, readIfThere(this.#view(threadId)));
    return spec && view && { service: spec.service, source: spec.source, lines: spec.lines, ...view };
  }

  /** How many bytes on the disk a pause holds. */
  heldBytes(threadId: ThreadId): number {
    return (statSync(this.#held(threadId), { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES;
  }

  /** Its program has ended, and has shown what it held unless it was killed. */
  removeHeld(threadId: ThreadId): void {
    rmSync(this.#held(threadId), { force: true });
  }

  #held(threadId: ThreadId): string {
    return join(this.runsFolder, `${threadId}.held`);
  }

  #view(threadId: ThreadId): string {
    return join(this.runsFolder, `${threadId}.view`);
  }

  /**
   * Notes that the thread's program was not begun. Its wrapper takes the note away, which works on a full disk too.
   * @throws AppError `unavailable` if the disk is full.
   */
  writeWaiting(threadId: ThreadId): void {
    try {
      writeFileSync(this.#waiting(threadId), "", { mode: 0o600 });
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "ENOSPC" ? diskFull(error) : error;
    }
  }

  /** Whether {@link writeWaiting} has noted so, and it is so still. */
  isWaiting(threadId: ThreadId): boolean {
    return existsSync(this.#waiting(threadId));
  }

  #waiting(threadId: ThreadId): string {
    return join(this.runsFolder, `${threadId}.waiting`);
  }

  /** What {@link writeProgram} keeps. */
  findProgram(threadId: ThreadId): string | undefined {
    return readIfThere(join(this.runsFolder, `${threadId}.program`));
  }

  removeRunEnds(threadId: ThreadId): void {
    for (const name of readdirSync(this.runsFolder)) {
      if (name.startsWith(`${threadId}.`) && isRunEnd(name))
        rmSync(join(this.runsFolder, name), { force: true });
    }
  }

  /** How a run ended by its wrapper's word; undefined while it has not, or if the wrapper itself was killed. */
  findRunEnd(threadId: ThreadId, runNumber: number): RunEnd | undefined {
    const file = this.runEnd(threadId, runNumber);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!stat) return undefined;
    return { exitCode: Number(readFileSync(file, "utf8")), endedAt: Math.round(stat.mtimeMs) };
  }

  /**
   * Links that the thread's program printed lately and whose text does not tell the address. They come from the log,
   * because tmux keeps no address before 3.4.
   */
  findLinks(threadId: ThreadId): TerminalLink[] {
    return linksIn(readLogTail(this.logs.path(threadId), MAX_LINK_BYTES));
  }

  remove(threadId: ThreadId): void {
    this.logs.remove(threadId);
    for (const name of readdirSync(this.runsFolder)) {
      if (name.startsWith(`${threadId}.`)) rmSync(join(this.runsFolder, name), { force: true });
    }
  }
}

/** Whether a file of {@link ThreadFiles.runsFolder} tells how a run ended. */
export function isRunEnd(name: string): boolean {
  return /\.\d+$/.test(name);
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Undefined if the text is something else: a person's command, say. */
function parseAs<T>(schema: z.ZodType<T>, text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON
  }
}
