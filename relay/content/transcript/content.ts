/** An agent's transcript as the content of its Discord thread. */
import * as z from "zod";
import type { TranscriptReply } from "../../../shared/agent/api.ts";
import { parseEvent, type ThreadEvent } from "../../../shared/agent/events.ts";
import type { Live } from "../../../shared/agent/files.ts";
import type { Content, ContentMark, Notice, Page } from "../content.ts";
import { turns } from "../turns.ts";
import { askKey, isAskKey } from "./ask.ts";
import { EndNotices, KILLED } from "./end-notices.ts";
import type { Entry } from "./entries.ts";
import { Listing } from "./listing.ts";
import { PlacedButtons, type PlacedTurn, placedListSchema } from "./placed-buttons.ts";
import { Receipts } from "./receipts.ts";
import { keptTurn, ownButtons, type RenderOptions, renderEntry } from "./render.ts";
import { Story } from "./story.ts";

export const transcriptMarkSchema = z.object({
  kind: z.literal("transcript"),
  offset: z.int().nonnegative(),
  /** The event that begins at `offset`. */
  seq: z.int().positive(),
  /** An activity that was too old to be edited ended with each of these events. */
  breaks: z.array(z.int()).default([]),
  /** Ranges of entries that were left out because too many waited, each from its first event to its last. */
  skipped: z.array(z.tuple([z.int(), z.int()])).default([]),
  /** Messages that are not told again and have the thread's buttons below them. */
  placed: placedListSchema,
});
export type TranscriptMark = z.infer<typeof transcriptMarkSchema> & ContentMark;

/** To take so much, and to split its texts, takes no longer than the event loop may stand still. */
const MAX_UNITS_AT_ONCE = 32 * 1024;

export interface TranscriptContentOptions {
  starter: string | undefined;
  where?: string | undefined;
  mark?: TranscriptMark | undefined;
  /** Nothing that the agent writes is shown: it speaks with a tool. */
  isPrivate?: boolean;
  /** The keys of messages that an earlier process has sent, or was about to send. */
  keys?: readonly string[];
}

export class TranscriptContent implements Content<TranscriptReply> {
  readonly #story: Story;
  readonly #starter: string | undefined;
  readonly #where: string | undefined;
  /** Where an event begins, for those from which a restart may go on. */
  readonly #bytes = new Map<number, number>();
  readonly #listing = new Listing();
  readonly #receipts = new Receipts();
  readonly #placed: PlacedButtons;
  #breaks: number[];
  #skipped: TranscriptMark["skipped"];
  #offset: number;
  #seq: number;
  #eventCount = 0;
  #live: Live | undefined;
  readonly #ends: EndNotices;
  /** The keys of asks that have a message, or may have one. */
  readonly #askKeys = new Set<string>();

  /**
   * @param starter the Discord user who started the thread.
   * @param where the directory that the agent works in.
   */
  constructor({ starter, where, mark, isPrivate = false, keys = [] }: TranscriptContentOptions) {
    this.#skipped = mark?.skipped ?? [];
    for (const key of keys) this.begin(key);
    this.#story = new Story(isPrivate, this.#skipped, (ask) => this.#askKeys.has(askKey(ask)));
    this.#starter = starter;
    this.#ends = new EndNotices(starter);
    this.#where = where;
    this.#offset = mark?.offset ?? 0;
    this.#seq = (mark?.seq ?? 1) - 1;
    this.#breaks = mark?.breaks ?? [];
    this.#placed = new PlacedButtons(mark?.placed ?? []);
  }

  get offset(): number {
    return this.#offset;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  /**
   * Lets the event loop run between long lines. Once `signal` fires it takes no more: {@link offset} says where it
   * stopped.
   * @throws Error if the chunk does not begin at {@link offset}.
   */
  async accept(
    { lines, start, offset, live, status, problem }: TranscriptReply,
    now = Date.now(),
    signal?: AbortSignal,
  ): Promise<void> {
    if (start !== this.#offset) throw new Error(`a chunk of ${start} came, not of ${this.#offset}`);
    let units = 0;
    for (const line of lines.split("\n")) {
      if (units > MAX_UNITS_AT_ONCE) {
        units = 0;
        if (turns.isOver) await turns.next();
        if (signal?.aborted) return;
      }
      if (line !== "") this.#acceptLine(line, this.#offset, now);
      this.#offset += Buffer.byteLength(line) + 1;
      units += line.length;
    }
    this.#offset = offset;
    this.#live = live ?? undefined;
    this.#ends.accept({ status, problem });
    this.#skipOld();
    this.#forgetOldBytes();
  }

  /** A person's message stands in the transcript too, and breaks the activity there, wherever it is read. */
  breakPage(): void {}

  pages(): readonly Page[] {
    const pages = this.#openPages();
    const carrier = this.#carrierKey();
    if (carrier === undefined && !this.#ends.isKilled) return pages;
    const isListed = (key: string) => pages.some((page) => page.key === key);
    return [...this.#placed.pages((key) => key !== carrier && !isListed(key)), ...pages];
  }

  begin(key: string): void {
    if (isAskKey(key)) this.#askKeys.add(key);
  }

  /** Whether more pages wait than the last {@link pages} listed. */
  get isCut(): boolean {
    return this.#listing.count < this.#story.entries.length;
  }

  confirm(keys: readonly string[]): void {
    const carrier = this.#carrierKey();
    const confirmed = this.#listing.confirm(keys);
    for (const key of keys) {
      if (confirmed.has(key) && key === carrier) this.#placed.note(key, this.#carrierTurn());
      else this.#placed.drop(key);
    }
    const { count } = this.#listing;
    const done = this.#listing.forget();
    for (const entry of done) if (entry.kind === "ask") this.#askKeys.delete(askKey(entry));
    this.#story.forget(done, count);
    this.#forgetOldBytes();
  }

  settle(): void {}

  /** What comes next begins a new activity; a message that nothing more is added to may stay old. */
  roll(): "moved" | "edit" {
    if (!this.#story.breakActivity()) return "edit";
    this.#breaks.push(this.#seq);
    this.#eventCount += 1;
    return "moved";
  }

  receipt(): string | undefined {
    return this.#receipts.next;
  }

  receipted(messageId: string): void {
    this.#receipts.given(messageId);
  }

  /** True while somebody ends the thread, who tells it themselves. */
  setEndSilent(isSilent: boolean): void {
    this.#ends.setSilent(isSilent);
  }

  notices(): readonly Notice[] {
    return this.#ends.list(this.#seq + 1);
  }

  told(notice: Notice): void {
    this.#ends.told(notice);
  }

  mark(): TranscriptMark | undefined {
    const since = this.#story.openSince;
    const offset = since === undefined ? this.#offset : this.#bytes.get(since);
    if (offset === undefined) return undefined;
    const seq = since ?? this.#seq + 1;
    return {
      kind: "transcript",
      offset,
      seq,
      breaks: this.#breaks.filter((at) => at >= seq),
      skipped: this.#skipped.filter(([, to]) => to >= seq),
      placed: this.#placed.list(),
    };
  }

  isNeeded(key: string, { seq, placed }: TranscriptMark): boolean {
    if (placed.some(([other]) => other === key)) return true;
    return key === KILLED.key || Number(/^[a-z](\d+)/.exec(key)?.[1]) >= seq;
  }

  /** Those that are not confirmed, as far as they are listed now. */
  #openPages(): Page[] {
    return this.#listing.list(this.#story.entries, this.#renderOptions(this.#live));
  }

  #renderOptions(live: Live | undefined): RenderOptions {
    const { turnId } = this.#story;
    return { starter: this.#starter, where: this.#where, live, carrier: this.#carrier(), turnId };
  }

  /** A thread that was ended has no buttons any more. */
  #carrier(): Entry | undefined {
    return this.#ends.isKilled ? undefined : this.#story.carrier;
  }

  /** The message that has the thread's buttons below it. */
  #carrierKey(): string | undefined {
    const carrier = this.#carrier();
    return carrier && renderEntry(carrier, this.#renderOptions(undefined)).at(-1)?.key;
  }

  /** The turn whose change the carrier can show, as the mark names it. */
  #carrierTurn(): PlacedTurn {
    const carrier = this.#carrier();
    if (!carrier || ownButtons(carrier).length === 0) return 0;
    return keptTurn(carrier) ?? carrier.since;
  }

  #acceptLine(line: string, byte: number, now: number): void {
    let event: ThreadEvent | undefined;
    try {
      event = parseEvent(line);
    } catch {
      return; // somebody else wrote it, so it has no number; the runner says that it is there
    }
    this.#seq += 1;
    if (!event) return;
    this.#bytes.set(event.seq, byte);
    this.#receipts.note(event, now);
    if (this.#breaks.includes(event.seq - 1)) this.#story.breakActivity();
    this.#story.add(event);
    this.#seq = event.seq;
  }

  /** Leaves out old entries, and keeps the range for the mark: pages depend on it. */
  #skipOld(): void {
    const range = this.#story.skipOld(this.#listing.count);
    if (!range) return;
    const [from, to] = range;
    this.#skipped = [...this.#skipped.filter(([, earlier]) => earlier < from), [from, to]];
    this.#eventCount += 1;
  }

  #forgetOldBytes(): void {
    const since = this.#story.openSince ?? Number.POSITIVE_INFINITY;
    for (const seq of this.#bytes.keys()) {
      if (seq >= since) return; // they are in order
      this.#bytes.delete(seq);
    }
  }
}
