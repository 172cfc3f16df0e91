/** A terminal's log as content: its pages, the picture of a full-screen program, its bell and its end. */
import { chunkOf, type OutputReply } from "../../shared/api.ts";
import type { Thread } from "../sidecar/names.ts";
import { KEY_BUTTONS, viewButtons } from "./buttons.ts";
import type { LogEvent } from "./checkpoints.ts";
import type { Content, Notice, Page } from "./content.ts";
import { Document, type PageView } from "./document.ts";
import { FloodGauge } from "./flood.ts";
import { KeptMark } from "./kept-mark.ts";
import { isNeeded, type LogMark, pageIndex, pageKey, pictureKey } from "./log-mark.ts";
import { LogProcess } from "./log-process.ts";
import { BLANK_PAGE } from "./pages.ts";

/** The picture of a full-screen program begins with this. */
export const SCREEN_PREFIX = "▣ full screen\n";
/** What the document's state may take of the mark, so that the whole mark fits. */
export const MAX_STATE_CHARACTERS = 3_500;

/** How many messages a flood's end leaves to the output after it, which may be another flood. */
const RESERVED_SENDS = 2;

export interface LogContentOptions {
  thread: Thread;
  isAnsi: boolean;
  /** Where to go on; undefined: from the log's start. */
  mark: LogMark | undefined;
  /** The keys of all messages that exist or may exist. */
  keys: readonly string[];
  /** Asked when the process has ended: how. */
  getThread: () => Promise<Thread>;
}

export class LogContent implements Content<OutputReply> {
  readonly #options: LogContentOptions;
  readonly #document: Document;
  readonly #keptMark: KeptMark;
  readonly #gauge = new FloodGauge();
  readonly #process: LogProcess;
  #eventCount = 0;
  /** How often a full-screen program began that the log was broken for. */
  #alternates: number;
  /** The log's end at the start. Until it is read again, nobody knows what the pages hold. */
  readonly #behindUntil: number;
  /** Pages below have a message, or may have one. */
  #begun: number;
  #confirmed: number;
  /** Pages that shrank away are deleted. Otherwise they stay as blank ones, since they mostly come back. */
  #dropsSurplus = false;
  /** The page that was sealed last because its message was too old. */
  #rolledKey = "";

  /** @throws Error if the mark is of another version. */
  constructor(options: LogContentOptions) {
    const { thread, mark, isAnsi, keys } = options;
    this.#options = options;
    this.#document = mark
      ? Document.restore(mark, { isAnsi })
      : new Document({ cols: thread.cols, rows: thread.rows, isAnsi });
    this.#keptMark = new KeptMark(MAX_STATE_CHARACTERS, mark);
    this.#alternates = this.#document.screen.alternates;
    this.#behindUntil = thread.offset;
    this.#confirmed = mark?.page ?? 0;
    this.#begun = this.#confirmed;
    for (const key of keys) this.begin(key);
    this.#process = new LogProcess(thread, this.offset, {
      bells: mark?.bells ?? 0,
      end: mark?.end,
      small: mark?.small,
    });
  }

  get offset(): number {
    return this.#document.offset;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  async accept(reply: OutputReply, now: number, signal: AbortSignal): Promise<void> {
    const document = this.#document;
    const before = document.offset;
    const { bells } = document.screen;
    if (reply.firstOffset > before) {
      this.#happen({ kind: "lost", offset: before, to: reply.firstOffset });
      document.skipTo(reply.firstOffset);
    }
    if (reply.output !== "") {
      await document.feedLong(chunkOf(reply), signal);
      if (signal.aborted) return;
      this.#breakAtPicture();
      this.#process.hear(bells, document.screen.bells, now);
    }
    this.#gauge.note(reply.offset - before, reply.more, now);
    if (document.screen.cols !== reply.cols || document.screen.rows !== reply.rows) {
      this.#process.resized(await this.#options.getThread());
      this.#happen({ kind: "resize", offset: this.offset, cols: reply.cols, rows: reply.rows });
      document.resize(reply.cols, reply.rows);
    }
    const hasEnded = this.#process.accept(reply);
    if (hasEnded) this.#process.end(await this.#options.getThread(), this.offset);
  }

  breakPage(): void {
    this.#process.noteMessage();
    const offset = Math.max(this.offset, this.#behindUntil);
    this.#happen({ kind: "break", offset });
    this.#document.breakPageAt(offset);
    this.#dropsSurplus = true;
  }

  /** A person pressed a key in Discord. */
  noteKey(now: number): void {
    this.#process.noteKey(now);
  }

  /** True while somebody ends the thread, who tells it themselves. */
  setEndSilent(isSilent: boolean): void {
    this.#process.setEndSilent(isSilent);
  }

  /** While a flood goes on, or may begin, pages wait that would soon give way to a gap. */
  pages(now: number, room = Infinity): Page[] {
    if (this.offset < this.#behindUntil) return [];
    const backlogUntil = this.#gauge.backlogUntil(this.#document.pageCount > this.#begun + 1, now);
    const overAt = Math.max(this.#gauge.endsAt(now), backlogUntil);
    if (room > 0 && overAt <= now && this.#document.squeeze(room, RESERVED_SENDS)) {
      this.#happen({ kind: "break-screen", offset: this.offset });
    }
    const views = this.#document.pages();
    const picture = views.find(({ kind }) => kind === "screen");
    const logs = views.filter(({ kind }) => kind !== "screen");
    const count = (logs.at(-1)?.index ?? this.#confirmed - 1) + 1;
    const gap = logs.find(({ kind, isSealed }) => kind === "gap" && !isSealed)?.index ?? Infinity;
    const pages = logs.map((view) => {
      const page = this.#page(view, !picture && view.index === count - 1);
      if (view.index > gap) return { ...page, notBefore: overAt };
      return view.index < this.#begun ? page : { ...page, notBefore: backlogUntil };
    });
    for (let index = count; index < this.#begun; index++) pages.push(this.#surplus(index));
    if (picture) pages.push(this.#page(picture, true));
    return pages;
  }

  begin(key: string): void {
    const index = pageIndex(key);
    if (index === undefined) return;
    this.#begun = Math.max(this.#begun, index + 1);
    this.#document.begin(index + 1);
  }

  confirm(keys: readonly string[]): void {
    while (keys.includes(pageKey(this.#confirmed))) this.#confirmed++;
    this.#document.confirm(this.#confirmed);
  }

  settle(): void {
    if (this.offset < this.#behindUntil) return;
    this.#dropsSurplus = false;
  }

  roll(key: string): "moved" | "replace" | "edit" {
    if (pageIndex(key) === undefined) return "edit";
    // What has settled stays in the old message. If nothing has, the same page is asked about again.
    if (this.#rolledKey === key) return "replace";
    this.#rolledKey = key;
    this.#happen({ kind: "break-screen", offset: this.offset });
    this.#document.breakPage("screen");
    return "moved";
  }

  notices(now: number): Notice[] {
    return this.#process.notices(this.#document.screen.bells, now);
  }

  told(notice: Notice, now: number): void {
    this.#process.tell(notice, this.#document.screen.bells, now);
  }

  mark(): LogMark | undefined {
    const mark = this.#keptMark.make(this.#document);
    if (mark === undefined) return undefined;
    const { bells, end, small } = this.#process.told;
    return {
      kind: "log",
      ...mark,
      bells,
      ...(end === undefined ? {} : { end }),
      ...(small === undefined ? {} : { small }),
    };
  }

  isNeeded(key: string, mark: LogMark): boolean {
    return isNeeded(key, mark);
  }

  /** The log goes on below the picture of a full-screen program. */
  #breakAtPicture(): void {
    const { alternate, alternates } = this.#document.screen;
    if (alternate && alternates > this.#alternates) this.breakPage();
    this.#alternates = alternates;
  }

  #page({ kind, index, text, isSealed }: PageView, isNewest: boolean): Page {
    const hasKeys = isNewest && this.#process.isRunning && !isSealed;
    const { view } = this.#process;
    const isPicture = kind === "screen";
    return {
      key: isPicture ? pictureKey(index) : pageKey(index),
      text: isPicture ? SCREEN_PREFIX + text : text,
      buttons: hasKeys ? (view ? viewButtons(view) : KEY_BUTTONS) : [],
      isSealed,
      presence: "wanted",
      isAside: isPicture,
      notBefore: 0,
    };
  }

  #surplus(index: number): Page {
    const isDropped = this.#dropsSurplus || this.#process.hasEnded;
    const presence = isDropped ? "unwanted" : "kept";
    return {
      key: pageKey(index),
      text: BLANK_PAGE,
      buttons: [],
      isSealed: false,
      presence,
      isAside: false,
      notBefore: 0,
    };
  }

  #happen(event: LogEvent): void {
    this.#keptMark.record(event);
    this.#eventCount++;
  }
}
