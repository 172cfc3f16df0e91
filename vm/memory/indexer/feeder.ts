/** Brings the index up to date with the files that it is made of, in steps of some milliseconds. */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Line, splitLines } from "../../../shared/agent/jsonl.ts";
import { threadPath } from "../../../shared/agent/paths.ts";
import { MemoryFolder } from "../../../shared/memory/memory-folder.ts";
import { isMemoryName, isOwnerFolder } from "../../../shared/memory/owner.ts";
import { linesOf } from "../../../shared/outside-text.ts";
import type { Doc, DocKind, SearchIndex } from "../../store/search-index.ts";
import { toldBy } from "./told.ts";

const MAX_FOLDERS = 1_000;
const STEP_LINES = 100;
const READ_BYTES = 64 * 1024;
/** A transcript's line has at most 64 KiB. */
const MAX_LINE_BYTES = 128 * 1024;

interface Grown {
  kind: DocKind;
  key: string;
  /** Which file it is: another one of the same name is read from its beginning. */
  stamp: string;
  bytes: number;
}

export class Feeder {
  readonly #index: SearchIndex;
  readonly #stateDir: string;
  #docs: Map<string, Doc>;
  /** Files that are not in the index as they are, memories first. */
  #due: Grown[] = [];
  /** Documents that are to go. */
  #gone: Doc[] = [];

  constructor(index: SearchIndex, stateDir: string) {
    this.#index = index;
    this.#stateDir = stateDir;
    this.#docs = this.#known();
  }

  get behindBytes(): number {
    return this.#due.reduce((sum, file) => sum + file.bytes - (this.#find(file)?.position ?? 0), 0);
  }

  /** Finds what has changed. */
  look(): void {
    this.#docs = this.#known();
    const files = [...this.#memories(), ...this.#transcripts()];
    const there = new Set(files.map(nameOf));
    this.#gone = [...this.#docs.values()].filter((doc) => !there.has(nameOf(doc)));
    this.#due = files.filter((file) => {
      const doc = this.#find(file);
      return !doc || doc.stamp !== file.stamp || doc.position < file.bytes;
    });
  }

  /** All of them at once: they are small. What was written a moment ago is to be found, and what was forgotten is not. */
  feedMemories(): void {
    for (const doc of this.#gone.filter(({ kind }) => kind === "memory")) this.#removeAll(doc);
    this.#gone = this.#gone.filter(({ kind }) => kind !== "memory");
    for (const file of this.#due.filter(({ kind }) => kind === "memory")) this.#feedMemory(file);
    this.#due = this.#due.filter(({ kind }) => kind !== "memory");
  }

  /** @returns whether there is more to do */
  feedSome(): boolean {
    const [gone] = this.#gone;
    if (gone !== undefined) {
      if (!this.#index.removeSome(gone.docId, STEP_LINES)) this.#gone.shift();
      return true;
    }
    const [file] = this.#due;
    if (!file) return false;
    if (file.kind === "memory" ? this.#feedMemory(file) : this.#feedUnlessGone(file)) this.#due.shift();
    return true;
  }

  /** Nothing of one file keeps the others from being read; the next look finds it again. */
  #feedUnlessGone(file: Grown): boolean {
    try {
      return this.#feedTranscript(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      return true;
    }
  }

  /** Puts a memory's file into the index anew, as a whole. */
  #feedMemory(file: Grown): true {
    this.#removeAll(file);
    const at = file.key.lastIndexOf("/");
    const [folder, name] = [file.key.slice(0, at), file.key.slice(at + 1)];
    const found = MemoryFolder.use(this.#stateDir, folder, (open) => open.read(name));
    const docId = this.#begin(file);
    const changedMs = found?.facts.changedMs ?? 0;
    const lines = linesOf(found?.text ?? "").map((text, n) => ({ line: n + 1, at: changedMs, text }));
    this.#index.add(
      docId,
      lines.filter(({ text }) => text.trim() !== ""),
      file.bytes,
    );
    return true;
  }

  /** @returns whether all of it is in the index */
  #feedTranscript(file: Grown): boolean {
    const doc = this.#find(file);
    if (doc && (doc.stamp !== file.stamp || doc.position > file.bytes)) {
      this.#removeAll(file);
      return false;
    }
    const docId = doc?.docId ?? this.#begin(file);
    const from = doc?.position ?? 0;
    const { lines, next } = readSome(
      threadPath(join(this.#stateDir, "threads", file.key), "transcript"),
      from,
    );
    const taken = lines.slice(0, STEP_LINES);
    const last = taken.at(-1);
    const end = last && taken.length < lines.length ? last.byte + last.bytes : next;
    this.#index.batch(() => {
      for (const { text } of taken) {
        const { removes, tells } = toldBy(text);
        if (removes !== undefined) this.#index.removeRef(docId, removes);
        if (tells.length > 0) this.#index.add(docId, tells);
      }
      this.#index.add(docId, [], end);
    });
    this.#docs.set(nameOf(file), { docId, kind: file.kind, key: file.key, stamp: file.stamp, position: end });
    return end >= file.bytes || end === from; // half a line is read when it is whole
  }

  #begin(file: Grown): number {
    const docId = this.#index.beginDoc(file.kind, file.key, file.stamp);
    this.#docs.set(nameOf(file), { docId, kind: file.kind, key: file.key, stamp: file.stamp, position: 0 });
    return docId;
  }

  #removeAll(file: Pick<Grown, "kind" | "key">): void {
    const doc = this.#find(file);
    if (!doc) return;
    while (this.#index.removeSome(doc.docId, 10 * STEP_LINES));
    this.#docs.delete(nameOf(file));
  }

  #find(file: Pick<Grown, "kind" | "key">): Doc | undefined {
    return this.#docs.get(nameOf(file));
  }

  #known(): Map<string, Doc> {
    return new Map(this.#index.listDocs().map((doc) => [nameOf(doc), doc]));
  }

  *#memories(): Generator<Grown> {
    for (const top of ["main", "dirs"]) {
      const names = MemoryFolder.use(this.#stateDir, top, (open) => open.listFolders(MAX_FOLDERS)) ?? [];
      for (const name of names) yield* this.#filesOf(`${top}/${name}`);
    }
    yield* this.#filesOf("user");
  }

  #filesOf(folder: string): Grown[] {
    if (!isOwnerFolder(folder)) return [];
    const listed = MemoryFolder.use(this.#stateDir, folder, (open) => open.list(isMemoryName));
    return (listed?.files ?? []).map(({ name, bytes, changedMs }) => ({
      ...{ kind: "memory" as const, key: `${folder}/${name}`, bytes },
      stamp: `${changedMs} ${bytes}`,
    }));
  }

  *#transcripts(): Generator<Grown> {
    const root = join(this.#stateDir, "threads");
    for (const key of readdirSync(root)) {
      if (key.startsWith(".")) continue;
      const stats = statSync(threadPath(join(root, key), "transcript"), { throwIfNoEntry: false });
      if (stats?.isFile())
        yield { kind: "thread", key, stamp: `${stats.dev}:${stats.ino}`, bytes: stats.size };
    }
  }
}

function nameOf({ kind, key }: Pick<Grown, "kind" | "key">): string {
  return `${kind} ${key}`;
}

/** The next whole lines; one that is too long to be one is skipped. */
function readSome(path: string, from: number): { lines: Line[]; next: number } {
  const fd = openSync(path, "r");
  const read = (size: number) => {
    const bytes = Buffer.alloc(size);
    return bytes.subarray(0, readSync(fd, bytes, 0, size, from));
  };
  try {
    const some = read(READ_BYTES);
    const bytes = some.length === READ_BYTES && !some.includes(0x0a) ? read(MAX_LINE_BYTES) : some;
    const { lines, next } = splitLines(bytes, from);
    return {
      lines,
      next: lines.length === 0 && bytes.length === MAX_LINE_BYTES ? from + bytes.length : next,
    };
  } finally {
    closeSync(fd);
  }
}
