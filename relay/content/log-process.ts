/** The process behind a log: whether it runs, how it ended, and what of that was told. */
import type { OutputReply } from "../../shared/api.ts";
import type { View } from "../../shared/follow/spec.ts";
import type { Thread } from "../sidecar/names.ts";
import type { Notice } from "./content.ts";
import { afterNotice, listNotices, type NoticeFacts, type Told } from "./notices.ts";

/** A program rings within this time if it does not like a key. */
const KEY_BELL_MS = 2_000;

export class LogProcess {
  readonly #thread: Thread;
  #isRunning: boolean;
  /** The thread as it ended, once all of its output is read. */
  #ended: Thread | undefined;
  #small: NoticeFacts["small"];
  #isEndSilent = false;
  #told: Told;
  #lastBellAt = 0;
  /** The view on the logs that it follows; undefined if it follows none. */
  #view: View | undefined;
  #lastKeyAt = Number.NEGATIVE_INFINITY;

  /** @param offset how far the log has been read. */
  constructor(thread: Thread, offset: number, told: Told) {
    this.#thread = thread;
    this.#isRunning = thread.processRunning;
    this.#told = told;
    this.#small = thread;
    this.#view = thread.follows ?? undefined;
    this.end(thread, offset);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  get told(): Told {
    return this.#told;
  }

  get view(): View | undefined {
    return this.#view;
  }

  /** @returns whether the process has ended and {@link end} is to be told how. */
  accept({ processRunning, more, status, output, view }: OutputReply): boolean {
    this.#view = view;
    this.#isRunning = processRunning;
    if (processRunning) this.#ended = undefined;
    return !processRunning && !more && (this.#ended?.status !== status || output !== "");
  }

  end(thread: Thread, offset: number): void {
    if (!thread.processRunning && thread.offset <= offset) this.#ended = thread;
  }

  /** Its terminal has another size now. */
  resized(thread: Thread): void {
    this.#small = thread;
  }

  /** True while somebody ends the thread, who tells it themselves. */
  setEndSilent(isSilent: boolean): void {
    this.#isEndSilent = isSilent;
  }

  /** A person pressed a key in Discord. */
  noteKey(now: number): void {
    this.#lastKeyAt = now;
  }

  /** A person wrote: a bell from now on is what their words caused. */
  noteMessage(): void {
    this.#lastKeyAt = Number.NEGATIVE_INFINITY;
  }

  /** The bell rang meanwhile. If a key caused it, its person is there, and nobody is told. */
  hear(before: number, bells: number, now: number): void {
    const isOfKey = now - this.#lastKeyAt <= KEY_BELL_MS;
    if (isOfKey && this.#told.bells === before) this.#told = { ...this.#told, bells };
  }

  notices(bells: number, now: number): Notice[] {
    return listNotices(this.#facts(bells), now);
  }

  tell(notice: Notice, bells: number, now: number): void {
    this.#told = afterNotice(notice, this.#facts(bells));
    if (notice.key.startsWith("bell.")) this.#lastBellAt = now;
  }

  #facts(bells: number): NoticeFacts {
    return {
      thread: this.#thread,
      bells,
      small: this.#small,
      ended: this.#isEndSilent ? undefined : this.#ended,
      told: this.#told,
      lastBellAt: this.#lastBellAt,
    };
  }
}
