/** The folders of agent threads, below `STATE_DIR/threads`: made, found, measured, removed. */
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { type ThreadConfig, threadConfigSchema } from "../../shared/agent/config.ts";
import type { Holds } from "../../shared/agent/holds.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { removeTreeNow } from "../../shared/remove-tree.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { diskBytesOf } from "../streams/disk.ts";
import { readHolds } from "./holds.ts";

/** No thread's id ends so. */
const OLD = ".old";
/** No thread's id begins with a dot. */
const ASIDE = ".gone-";

/** The parts of a thread's configuration that never change. */
interface Known {
  parentId: ThreadId | undefined;
  engine: string | undefined;
  isSingle: boolean;
  directive: string | undefined;
  voice: "message" | undefined;
  origin: { threadId: ThreadId; seq: number } | undefined;
}

export class AgentFolders {
  /** The sidecar's state folder, every link resolved. */
  readonly state: string;
  /** Holds them all. */
  readonly root: string;
  /** Where runners keep what people decided about directories, for all threads. */
  readonly trust: string;

  /** Where runners say what their agents do. */
  readonly board: string;

  /** Where runners keep which call of which thread may write which file. */
  readonly locks: string;

  /** Where runners keep which threads have a turn, and which wait for one. */
  readonly places: string;

  /** Where runners count what all threads spend a day. */
  readonly spend: string;

  /** The parts of configurations that every list of threads asks for. */
  readonly #known = new Map<ThreadId, Known>();

  constructor(stateDir: string) {
    this.root = join(stateDir, "threads");
    this.trust = join(stateDir, "trust");
    this.board = join(stateDir, "board");
    this.locks = join(stateDir, "locks");
    this.places = join(stateDir, "places");
    this.spend = join(stateDir, "spend");
    mkdirSync(this.root, { recursive: true, mode: 0o700 });
    this.state = realpathSync(stateDir);
    this.#bringBack();
  }

  /** Folders whose threads were being replaced when an earlier process was killed. */
  #bringBack(): void {
    for (const name of readdirSync(this.root).filter((name) => name.endsWith(OLD))) {
      const threadId = knownThreadId.parse(name.slice(0, -OLD.length));
      if (existsSync(this.of(threadId))) removeTreeNow(join(this.root, name));
      else renameSync(join(this.root, name), this.of(threadId));
    }
  }

  /** The files that an agent with a turn holds. */
  holdsOf(threadId: ThreadId): Holds | null {
    return readHolds(this.board, threadId, () => this.findConfig(threadId)?.dir ?? "/");
  }

  /** Where a thread's folder is, or would be. */
  of(threadId: ThreadId): string {
    return join(this.root, threadId);
  }

  /**
   * Makes the folder with its configuration; what an older thread of that id left goes.
   * @param prepared becomes the folder
   */
  make(config: ThreadConfig, prepared?: string): string {
    const folder = this.of(config.threadId);
    const old = `${folder}${OLD}`;
    this.#known.delete(config.threadId);
    removeTreeNow(old);
    // A crash here leaves an older thread's conversation in the one folder or in the other.
    if (existsSync(folder)) renameSync(folder, old);
    if (prepared === undefined) mkdirSync(folder, { mode: 0o700 });
    else renameSync(prepared, folder);
    this.#writeConfig(config);
    removeTreeNow(old);
    return folder;
  }

  /** Lets an agent go on in another directory, from its next runner on; none runs now. */
  handOver(
    config: ThreadConfig,
    { dir, ...rest }: Pick<ThreadConfig, "dir" | "handedOver"> & { systemPrompt: string },
  ): void {
    const { systemPrompt, handedOver } = rest;
    const agent = { ...config.agent, systemPrompt };
    this.#writeConfig({ ...config, dir, agent, ...(handedOver && { handedOver }) });
  }

  #writeConfig(config: ThreadConfig): void {
    const text = `${JSON.stringify(config, null, 2)}\n`;
    writeWhole(threadPath(this.of(config.threadId), "config"), text, { isDurable: true });
  }

  hasOrigin(threadId: ThreadId): boolean {
    return existsSync(threadPath(this.of(threadId), "origin"));
  }

  exists(threadId: ThreadId): boolean {
    return statSync(threadPath(this.of(threadId), "config"), { throwIfNoEntry: false }) !== undefined;
  }

  /** The thread that spawned it; undefined if none did. It never changes. */
  parentOf(threadId: ThreadId): ThreadId | undefined {
    return this.#knownOf(threadId)?.parentId;
  }

  /** Which engine it works with; undefined if nothing of it can be read. */
  engineOf(threadId: ThreadId): string | undefined {
    return this.#knownOf(threadId)?.engine;
  }

  /** It takes no message after its first turn. */
  isSingle(threadId: ThreadId): boolean {
    return this.#knownOf(threadId)?.isSingle ?? false;
  }

  /** The directive that it was made by, and where a branch left the other thread. */
  makingOf(threadId: ThreadId): Pick<Partial<Known>, "directive" | "origin"> {
    return this.#knownOf(threadId) ?? {};
  }

  /** Those of an agent; none of another thread. */
  tagsOf(threadId: ThreadId): readonly string[] {
    return this.exists(threadId) ? (this.findConfig(threadId)?.agent.tags ?? []) : [];
  }

  /** As a thread's description has the two. */
  madeBy(threadId: ThreadId): { engine: string | null; directive: string | null; voice?: "message" } {
    const { engine, directive, voice } = this.#knownOf(threadId) ?? {};
    return { engine: engine ?? null, directive: directive ?? null, ...(voice && { voice }) };
  }

  #knownOf(threadId: ThreadId): Partial<Known> | undefined {
    if (!this.#known.has(threadId)) {
      if (!this.exists(threadId)) return undefined;
      const { agent, origin: from } = this.findConfig(threadId) ?? {};
      const { parentThreadId: parentId, engine, mode, voice, directive } = agent ?? {};
      const isSingle = mode === "single";
      const origin = from && { threadId: from.threadId, seq: from.seq };
      this.#known.set(threadId, { parentId, engine, isSingle, voice, directive: directive?.name, origin });
    }
    return this.#known.get(threadId);
  }

  /** Undefined if the file is damaged: then the runner says so. */
  findConfig(threadId: ThreadId): ThreadConfig | undefined {
    try {
      const text = readFileSync(threadPath(this.of(threadId), "config"), "utf8");
      return threadConfigSchema.safeParse(JSON.parse(text)).data;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** Takes a removed thread's folder out of the way at once. @returns where it is now; undefined if there was none */
  setAside(threadId: ThreadId): string | undefined {
    this.#known.delete(threadId);
    const aside = join(this.root, `${ASIDE}${randomUUID()}`);
    try {
      renameSync(this.of(threadId), aside);
      return aside;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Folders that were set aside and are still there. */
  listAside(): string[] {
    const names = readdirSync(this.root).filter((name) => name.startsWith(ASIDE));
    return names.map((name) => join(this.root, name));
  }

  /** Measures what a thread's folder takes on disk, in bytes; 0 if there is none. */
  diskBytes(threadId: ThreadId): Promise<number> {
    return diskBytesOf(this.of(threadId));
  }

  /** A copy of the status for people and scripts; nothing of ours reads it back. */
  writeStatus(threadId: ThreadId, status: string): void {
    writeWhole(threadPath(this.of(threadId), "status"), `${status}\n`);
  }
}
