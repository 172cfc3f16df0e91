/** The folders of agent threads, below `STATE_DIR/threads`: made, found, measured, removed. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { threadPath } from "../../shared/agent/paths.ts";

export class AgentFolders {
  readonly #root: string;
  /** Where runners keep what people decided about directories, for all threads. */
  readonly trust: string;

  constructor(stateDir: string) {
    this.#root = join(stateDir, "threads");
    this.trust = join(stateDir, "trust");
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
  }

  /** Where a thread's folder is, or would be. */
  of(threadId: string): string {
    return join(this.#root, threadId);
  }

  /** Makes the folder with its configuration, which never changes; what an older thread of that id left goes. */
  make(config: ThreadConfig): string {
    const folder = this.of(config.threadId);
    this.remove(config.threadId);
    mkdirSync(folder, { mode: 0o700 });
    writeWhole(threadPath(folder, "config"), `${JSON.stringify(config, null, 2)}\n`);
    return folder;
  }

  exists(threadId: string): boolean {
    return statSync(threadPath(this.of(threadId), "config"), { throwIfNoEntry: false }) !== undefined;
  }

  remove(threadId: string): void {
    rmSync(this.of(threadId), { recursive: true, force: true });
  }

  /** What a thread's folder takes on disk. */
  diskBytes(threadId: string): number {
    return sizeOf(this.of(threadId));
  }

  /** A copy of the status for people and scripts; nothing of ours reads it back. */
  writeStatus(
    threadId: string,
    status: { status: string; awaiting: string | null; turn_count: number },
  ): void {
    writeWhole(threadPath(this.of(threadId), "status"), `${JSON.stringify(status)}\n`);
  }
}

/** The file is there whole or as it was before. */
function writeWhole(file: string, text: string): void {
  const part = `${file}.part`;
  const fd = openSync(part, "w", 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(part, file);
}

function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of listEntries(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += sizeOf(path);
    else bytes += (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  }
  return bytes;
}

function listEntries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return [];
  }
}
