/** The files that the model has read or written, as they were then: it is told if somebody else changes one. */
import { statSync } from "node:fs";
import { lockPathOf } from "../locks/lock-path.ts";

/** A file's state for this purpose; null if there is none. */
export type Stamp = string | null;

/** The most files of a thread; the least recently used are forgotten. */
const MAX_FILES = 300;
/** The system takes no longer one. */
const MAX_PATH = 4_096;

export class ReadFiles {
  readonly #files: Map<string, Stamp>;
  readonly #changed = new Set<string>();
  readonly #place: { dir: string; home: string };

  constructor(known: Readonly<Record<string, Stamp>>, place: { dir: string; home: string }) {
    this.#files = new Map(Object.entries(known));
    this.#place = place;
  }

  get known(): Record<string, Stamp> {
    return Object.fromEntries(this.#files);
  }

  /** Just before the model reads the file, or after it has written it: what it is now, the model knows. */
  note(path: string): void {
    if (path.length > MAX_PATH) return;
    const real = this.#real(path);
    this.#files.delete(real);
    this.#files.set(real, stampOf(real));
    const [oldest] = this.#files.keys();
    if (this.#files.size > MAX_FILES && oldest !== undefined) this.#files.delete(oldest);
  }

  /** Before the model writes it: what somebody else did until now would not be seen any more. */
  check(path: string): void {
    if (path.length > MAX_PATH) return;
    this.#look(this.#real(path));
  }

  /** Before a command that may change anything. */
  checkAll(): void {
    for (const path of this.#files.keys()) this.#look(path);
  }

  /** After a command of the thread's own, while nobody else was at work: what has changed is its doing. */
  noteAll(): void {
    for (const path of this.#files.keys()) this.#files.set(path, stampOf(path));
  }

  /** What others have changed, each change once. */
  takeChanged(): string[] {
    this.checkAll();
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  #look(path: string): void {
    const stamp = this.#files.get(path);
    if (stamp === undefined) return;
    const now = stampOf(path);
    if (now === stamp) return;
    this.#files.set(path, now);
    this.#changed.add(path);
  }

  #real(path: string): string {
    return lockPathOf(path, this.#place.dir, this.#place.home);
  }
}

function stampOf(path: string): Stamp {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true });
    return `${mtimeNs}-${size}-${ino}`;
  } catch {
    return null; // there is none, or none that can be read
  }
}
