/** The folders of browser threads, below `STATE_DIR/browsers`: what a browser is told, and what it shows. */
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import * as z from "zod";
import { removeShortTmp } from "../../shared/browser/short-tmp.ts";
import { BROWSER_FILES, type BrowserSpec, browserSpecSchema } from "../../shared/browser/spec.ts";
import { type BrowserState, browserStateSchema } from "../../shared/browser/state.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { removeTreeNow } from "../../shared/remove-tree.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { diskBytesOf } from "../streams/disk.ts";

/** How often the thread's browser was started, and when lately. */
const startsSchema = z.object({ run: z.int(), at: z.array(z.number()) });
export type Starts = z.infer<typeof startsSchema>;
const STARTS = "starts.json";

export class BrowserFolders {
  readonly #root: string;

  constructor(stateDir: string) {
    this.#root = join(stateDir, "browsers");
  }

  of(threadId: ThreadId): string {
    return join(this.#root, threadId);
  }

  attachments(threadId: ThreadId): string {
    return join(this.of(threadId), BROWSER_FILES.attachments);
  }

  /** Makes a new thread's folder; what an older thread of that id left goes. */
  make(threadId: ThreadId, spec: BrowserSpec): void {
    const folder = this.of(threadId);
    removeTreeNow(folder);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    mkdirSync(this.attachments(threadId), { mode: 0o700 });
    writeWhole(join(folder, BROWSER_FILES.spec), JSON.stringify(spec));
  }

  /** The threads that have a folder. */
  list(): ThreadId[] {
    if (!existsSync(this.#root)) return [];
    return readdirSync(this.#root).flatMap((name) => knownThreadId.safeParse(name).data ?? []);
  }

  has(threadId: ThreadId): boolean {
    return this.#read(threadId, BROWSER_FILES.spec, browserSpecSchema) !== undefined;
  }

  /** What the browser shows; undefined before it has shown anything. */
  findState(threadId: ThreadId): BrowserState | undefined {
    return this.#read(threadId, BROWSER_FILES.state, browserStateSchema);
  }

  /** When the browser last showed something new, in milliseconds; undefined before it has shown anything. */
  changedAt(threadId: ThreadId): number | undefined {
    return statSync(join(this.of(threadId), BROWSER_FILES.state), { throwIfNoEntry: false })?.mtimeMs;
  }

  startsOf(threadId: ThreadId): Starts {
    return this.#read(threadId, STARTS, startsSchema) ?? { run: 0, at: [] };
  }

  setStarts(threadId: ThreadId, starts: Starts): void {
    writeWhole(join(this.of(threadId), STARTS), JSON.stringify(starts));
  }

  /** The newest picture, a PNG; undefined if there is none. */
  async readPicture(threadId: ThreadId): Promise<Buffer | undefined> {
    try {
      const file = await open(join(this.of(threadId), BROWSER_FILES.picture), constants.O_RDONLY);
      try {
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Connects to the browser's door. A socket's path must fit in 108 bytes, so the folder goes by its descriptor. */
  async connect(threadId: ThreadId): Promise<Socket> {
    const folder = openSync(this.of(threadId), constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      const socket = connect(`/proc/self/fd/${folder}/${BROWSER_FILES.door}`);
      await new Promise<void>((resolve, reject) => {
        socket.once("error", reject);
        socket.once("connect", () => {
          socket.off("error", reject);
          resolve();
        });
      });
      return socket;
    } finally {
      closeSync(folder);
    }
  }

  /** Chromium's own files, which a thread that is over needs no more. */
  removeProfile(threadId: ThreadId): void {
    for (const name of [BROWSER_FILES.profile, BROWSER_FILES.scratch])
      removeTreeNow(join(this.of(threadId), name));
    removeShortTmp(this.of(threadId));
  }

  remove(threadId: ThreadId): void {
    removeShortTmp(this.of(threadId));
    removeTreeNow(this.of(threadId));
  }

  /** In bytes on disk; 0 if there is no folder. */
  diskBytes(threadId: ThreadId): Promise<number> {
    return diskBytesOf(this.of(threadId));
  }

  #read<T>(threadId: ThreadId, name: string, schema: z.ZodType<T>): T | undefined {
    const file = join(this.of(threadId), name);
    if (!existsSync(file)) return undefined;
    return schema.safeParse(JSON.parse(readFileSync(file, "utf8"))).data;
  }
}
