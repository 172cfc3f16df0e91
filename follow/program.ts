/** A program whose lines are the log, such as `journalctl --follow`. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { pause } from "../shared/lifecycle.ts";
import { Lines } from "./lines.ts";
import type { Sink, Source } from "./source.ts";

const EXIT_NOT_STARTED = 127;
/** The exit code of a program that a signal ended. */
const EXIT_KILLED = 128;

export class ProgramSource implements Source {
  ended: number | undefined;
  readonly #program: ChildProcess;
  readonly #streams: { stream: Readable; lines: Lines }[];
  readonly #sink: Sink;
  /** Fires when there is something to read. */
  #news = new AbortController();
  /** Set when the program has ended; the pipes may still hold something to read. */
  #left: { code: number } | undefined;

  constructor(argv: readonly string[], sink: Sink) {
    this.#sink = sink;
    const [program = "", ...args] = argv;
    this.#program = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    const { stdout, stderr } = this.#program;
    this.#streams = [stdout, stderr].flatMap((stream) => (stream ? [{ stream, lines: new Lines() }] : []));
    for (const { stream } of this.#streams) stream.on("readable", () => this.#news.abort());
    this.#program.once("error", (error) => {
      sink.say(`${program} could not be started: ${error.message}`);
      this.ended = EXIT_NOT_STARTED;
    });
    // Both streams have been read to their end.
    this.#program.once("close", (code) => {
      this.#left = { code: code ?? EXIT_KILLED };
    });
  }

  /** Reads what is there. The rest stays in the pipe, and the program waits. */
  async look(now: number): Promise<boolean> {
    this.#news = new AbortController();
    let hasMore = false;
    for (const { stream, lines } of this.#streams) {
      const chunk = stream.read() as Buffer | null;
      const found = chunk === null ? [] : lines.push(chunk, now);
      found.push(...lines.flush(now, this.#left !== undefined));
      if (found.length > 0) this.#sink.take(found.map((text) => ({ from: "", text })));
      hasMore ||= chunk !== null;
    }
    if (!hasMore && this.#left) this.ended ??= this.#left.code;
    return hasMore;
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    return pause(ms, signal, this.#news.signal);
  }

  async close(): Promise<void> {
    this.#program.kill("SIGTERM");
  }
}
