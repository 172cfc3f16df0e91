/** An agent's transcript as the content of its Discord thread. */
import { z } from "zod";
import type { TranscriptReply } from "../../../shared/agent/api.ts";
import { parseEvent, type ThreadEvent } from "../../../shared/agent/events.ts";
import type { Live } from "../../../shared/agent/files.ts";
import { DONE_BUTTON, GO_ON_BUTTON } from "../buttons.ts";
import type { Content, ContentMark, Notice, Page } from "../content.ts";
import { inline } from "./inline.ts";
import { Receipts } from "./receipts.ts";
import { renderEntry } from "./render.ts";
import { Story } from "./story.ts";

export const transcriptMarkSchema = z.object({
  kind: z.literal("transcript"),
  offset: z.int().nonnegative(),
  /** The event that begins at `offset`. */
  seq: z.int().positive(),
  /** An activity that was too old to be edited ended with each of these events. */
  breaks: z.array(z.int()).default([]),
});
export type TranscriptMark = z.infer<typeof transcriptMarkSchema> & ContentMark;

const KILLED: Notice = {
  key: "killed",
  text: "⏹ This thread was ended.",
  buttons: DONE_BUTTON,
  isSilent: true,
};

export interface TranscriptContentOptions {
  starter: string | undefined;
  where?: string | undefined;
  mark?: TranscriptMark | undefined;
}

export class TranscriptContent implements Content<TranscriptReply> {
  readonly #story = new Story();
  readonly #starter: string | undefined;
  readonly #where: string | undefined;
  /** Where an event begins, for those from which a restart may go on. */
  readonly #bytes = new Map<number, number>();
  /** Keys of pages whose messages stay as they are. */
  readonly #confirmed = new Set<string>();
  readonly #receipts = new Receipts();
  #breaks: number[];
  #offset: number;
  #seq: number;
  #eventCount = 0;
  #live: Live | undefined;
  #isKilled = false;
  #problem: string | null = null;
  /** Keys of what was told once. */
  readonly #told = new Set<string>();

  /**
   * @param starter the Discord user who started the thread.
   * @param where the directory that the agent works in.
   */
  constructor({ starter, where, mark }: TranscriptContentOptions) {
    this.#starter = starter;
    this.#where = where;
    this.#offset = mark?.offset ?? 0;
    this.#seq = (mark?.seq ?? 1) - 1;
    this.#breaks = mark?.breaks ?? [];
  }

  get offset(): number {
    return this.#offset;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  /** @throws Error if the chunk does not begin at {@link offset}. */
  accept({ lines, start, offset, live, status, problem }: TranscriptReply, now = Date.now()): Promise<void> {
    if (start !== this.#offset) throw new Error(`a chunk of ${start} came, not of ${this.#offset}`);
    let byte = start;
    for (const line of lines.split("\n")) {
      if (line !== "") this.#acceptLine(line, byte, now);
      byte += Buffer.byteLength(line) + 1;
    }
    this.#offset = offset;
    this.#live = live ?? undefined;
    this.#isKilled = status === "killed";
    this.#problem = problem;
    this.#forgetOldBytes();
    return Promise.resolve();
  }

  /** A person's message stands in the transcript too, and breaks the activity there, wherever it is read. */
  breakPage(): void {}

  pages(): readonly Page[] {
    const options = { starter: this.#starter, where: this.#where, live: this.#live };
    return this.#story.entries
      .flatMap((entry) => renderEntry(entry, options))
      .filter(({ key }) => !this.#confirmed.has(key));
  }

  begin(): void {}

  confirm(keys: readonly string[]): void {
    for (const key of keys) this.#confirmed.add(key);
    let count = 0;
    for (const entry of this.#story.entries) {
      const pages = renderEntry(entry, { starter: this.#starter, where: this.#where, live: undefined });
      if (!pages.every(({ key, isSealed }) => isSealed && this.#confirmed.has(key))) break;
      for (const { key } of pages) this.#confirmed.delete(key);
      count += 1;
    }
    this.#story.forget(count);
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

  /** Whoever ends the thread tells it themselves. */
  silenceEnd(): void {
    this.#told.add(KILLED.key);
  }

  notices(): readonly Notice[] {
    const notices = this.#isKilled ? [KILLED] : this.#problemNotice();
    return notices.filter(({ key }) => !this.#told.has(key));
  }

  told({ key }: Notice): void {
    this.#told.add(key);
  }

  mark(): TranscriptMark | undefined {
    const since = this.#story.openSince;
    const offset = since === undefined ? this.#offset : this.#bytes.get(since);
    if (offset === undefined) return undefined;
    const seq = since ?? this.#seq + 1;
    return { kind: "transcript", offset, seq, breaks: this.#breaks.filter((at) => at >= seq) };
  }

  isNeeded(key: string, { seq }: TranscriptMark): boolean {
    return key === KILLED.key || Number(/^[a-z](\d+)/.exec(key)?.[1]) >= seq;
  }

  /** Once for each place of the transcript at which the thread got stuck. */
  #problemNotice(): Notice[] {
    if (this.#problem === null) return [];
    const whom = this.#starter === undefined ? "" : `<@${this.#starter}> `;
    const text = `${whom}⚠️ **The agent can't go on.** ${inline(this.#problem, 1_000)}`;
    const notice: Notice = { key: `p${this.#seq + 1}`, text, buttons: GO_ON_BUTTON, isSilent: false };
    return [this.#starter === undefined ? notice : { ...notice, mention: this.#starter }];
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

  #forgetOldBytes(): void {
    const since = this.#story.openSince ?? Number.POSITIVE_INFINITY;
    for (const seq of this.#bytes.keys()) {
      if (seq < since) this.#bytes.delete(seq);
    }
  }
}
