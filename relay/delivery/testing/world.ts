/** One thread's way into Discord without a network and without a clock of its own. */
import type { OutputReply } from "../../../shared/api.ts";
import { LogContent } from "../../content/log-content.ts";
import type { LogMark } from "../../content/log-mark.ts";
import type { Thread } from "../../sidecar/names.ts";
import { Pace } from "../pace.ts";
import { type PageAction, planPages, type SentMessage, shownBy } from "../plan.ts";

const never = new AbortController().signal;
const NOW = 1_800_000_000_000;

/** What a relay does to one thread, and Discord and the sidecar behind it; `now` goes on as the test wants. */
export class World {
  log = "";
  lines = 0;
  mark: LogMark | undefined;
  readonly messages = new Map<string, { key: string; text: string }>();
  rows = new Map<string, SentMessage>();
  content = this.open();
  keptEvents = 0;
  now = NOW;
  readonly pace = new Pace();
  #nextId = 1;

  open(): LogContent {
    const thread = {
      threadId: "1",
      processRunning: true,
      offset: this.log.length,
      cols: 80,
      rows: 24,
      createdBy: "x",
    } as Thread;
    const keys = [...(this.rows ?? new Map()).keys()];
    return new LogContent({ thread, isAnsi: false, mark: this.mark, keys, getThread: async () => thread });
  }

  print(count: number): void {
    for (let i = 0; i < count; i++) this.log += `row ${++this.lines}\r\n`;
  }

  async read(limit: number): Promise<void> {
    const { offset } = this.content;
    const end = Math.min(this.log.length, offset + limit);
    const reply = {
      output: this.log.slice(offset, end),
      start: offset,
      offset: end,
      firstOffset: 0,
      more: end < this.log.length,
      status: "running",
      processRunning: true,
      cols: 80,
      rows: 24,
    } as OutputReply;
    await this.content.accept(reply, this.now, never);
  }

  save(): void {
    const mark = this.content.mark();
    if (mark === undefined) return;
    this.mark = JSON.parse(JSON.stringify(mark));
    this.keptEvents = this.content.eventCount;
    const newest = [...this.rows].sort(([, a], [, b]) => Number(b.id) - Number(a.id))[0]?.[0];
    for (const key of this.rows.keys())
      if (key !== newest && !this.content.isNeeded(key, mark)) this.rows.delete(key);
  }

  kill(): void {
    this.rows = new Map(
      [...this.rows].map(([key, { id }]) => [key, { id, shows: undefined, isGone: false }]),
    );
    this.content = this.open();
    this.keptEvents = this.content.eventCount;
  }

  /**
   * Does what is to be done next.
   * @param room as the content is told it.
   * @param waits whether something must wait for now.
   * @returns whether there was something to do.
   */
  step(room: number, waits: (action: PageAction) => boolean): boolean {
    const find = (key: string) => this.rows.get(key);
    const pages = this.content.pages(this.now, room);
    const { actions, delivered } = planPages({ pages, find, isTooOld: () => false });
    this.content.confirm(delivered);
    const action = actions.find((one) => !waits(one));
    if (!action) {
      if (actions.length === 0) this.content.settle();
      return false;
    }
    if (action.kind === "send") this.pace.noteSend(this.now);
    else this.pace.noteEdit(this.now);
    if (action.kind === "send") {
      this.content.begin(action.page.key);
      if (this.content.eventCount !== this.keptEvents) this.save();
      const id = String(this.#nextId++);
      this.messages.set(id, { key: action.page.key, text: action.page.text });
      this.rows.set(action.page.key, { id, shows: shownBy(action.page), isGone: false });
    } else if (action.kind === "edit") {
      this.messages.set(action.id, { key: action.page.key, text: action.page.text });
      this.rows.set(action.page.key, { id: action.id, shows: shownBy(action.page), isGone: false });
    } else if (action.kind === "delete") {
      this.messages.delete(action.id);
      this.rows.delete(action.key);
    }
    return true;
  }

  /** {@link step} as a delivery does it: no faster than Discord takes it. */
  pacedStep(): boolean {
    return this.step(this.pace.room(this.now, 1_000), (action) => {
      if (action.kind !== "send") return this.pace.nextEditAt(this.now) > this.now;
      return Math.max(this.pace.nextSendAt(this.now), action.page.notBefore) > this.now;
    });
  }

  /** What a person reads, from above. */
  texts(): string[] {
    return [...this.messages].sort(([a], [b]) => Number(a) - Number(b)).map(([, { text }]) => text);
  }
}
