/** The last lines that threads have printed, for a search over them. */
import stripAnsi from "strip-ansi";
import type { LastWords, Thread } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { readLogTail } from "../streams/log-file.ts";
import type { ThreadFiles } from "./thread-files.ts";

/** The newest threads; each costs a read of its log when it has printed something since. */
const MAX_THREADS = 200;
const TAIL_BYTES = 4_096;
const MAX_LINES = 20;
const MAX_LINE_UNITS = 200;

export interface LastWordsOptions {
  threads: { list(status: "open" | "ended" | "all"): Thread[] };
  files: ThreadFiles;
}

export class LastWordsReader {
  readonly #options: LastWordsOptions;
  /** By thread; for as long as the log ends there. */
  #known = new Map<ThreadId, { offset: number; lines: string[] }>();

  constructor(options: LastWordsOptions) {
    this.#options = options;
  }

  /** Lists the newest threads, each with its last lines, the newest line last. */
  list(): LastWords[] {
    const newest = this.#options.threads
      .list("all")
      .sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
      .slice(0, MAX_THREADS);
    const known = new Map(newest.map((thread) => [thread.threadId, this.#linesOf(thread)]));
    this.#known = known;
    return [...known].map(([threadId, { lines }]) => ({ threadId, lines }));
  }

  #linesOf({ threadId, offset }: Pick<Thread, "threadId" | "offset">): { offset: number; lines: string[] } {
    const known = this.#known.get(threadId);
    if (known?.offset === offset) return known;
    const tail = offset === 0 ? "" : readLogTail(this.#options.files.logs.path(threadId), TAIL_BYTES);
    const lines = stripAnsi(tail)
      .split(/[\r\n]+/)
      .map((line) => cleanLine(line).trim().slice(0, MAX_LINE_UNITS))
      .filter((line) => line !== "");
    return { offset, lines: lines.slice(-MAX_LINES) };
  }
}
