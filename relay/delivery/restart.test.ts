import fc from "fast-check";
import { expect, test } from "vitest";
import type { OutputReply, Thread } from "../../shared/api.ts";
import { LogContent } from "../content/log-content.ts";
import type { LogMark } from "../content/log-mark.ts";
import { joinPages } from "../content/pages.ts";
import { planPages, type SentMessage, shownBy } from "./plan.ts";

const never = new AbortController().signal;
const NOW = 1_800_000_000_000;

/** What a relay does to one thread, and Discord and the sidecar behind it. */
class World {
  log = "";
  lines = 0;
  mark: LogMark | undefined;
  readonly messages = new Map<string, { key: string; text: string }>();
  rows = new Map<string, SentMessage>();
  content = this.open();
  keptEvents = 0;
  now = NOW;
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

  /** @returns whether there was something to do. */
  step(ignoresHold: boolean): boolean {
    const find = (key: string) => this.rows.get(key);
    const { actions, delivered } = planPages({
      pages: this.content.pages(this.now),
      find,
      isTooOld: () => false,
    });
    this.content.confirm(delivered);
    const action = actions.find(
      (one) => one.kind !== "send" || ignoresHold || one.page.notBefore <= this.now,
    );
    if (!action) {
      if (actions.length === 0) this.content.settle();
      return false;
    }
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
}

const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("print" as const), n: fc.oneof(fc.nat(40), fc.nat(4_000)) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("read" as const), n: fc.constantFrom(500, 20_000, 1_000_000) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("step" as const), n: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("save" as const), n: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("break" as const), n: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("kill" as const), n: fc.constant(0) }) },
);

test("whatever is printed, typed and killed, each row is shown once, or counted in a gap at its place", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40, size: "max" }), async (events) => {
      const world = new World();
      for (const { kind, n } of events) {
        world.now += 100;
        if (kind === "print") world.print(n);
        else if (kind === "read") await world.read(n);
        else if (kind === "save") world.save();
        else if (kind === "break") world.content.breakPage();
        else if (kind === "kill") world.kill();
        else for (let i = 0; i < n; i++) world.step(false);
      }
      while (world.content.offset < world.log.length) await world.read(1_000_000);
      world.now += 10_000;
      for (let i = 0; world.step(true); i++) if (i > 1_000) throw new Error("it does not end");
      let next = 1;
      const texts = [...world.messages].sort(([a], [b]) => Number(a) - Number(b)).map(([, { text }]) => text);
      for (const text of texts) {
        if (text.startsWith("… ")) {
          next += Number(/[\d,]+/.exec(text)?.[0].replaceAll(",", ""));
          continue;
        }
        for (const row of joinPages([text]).split("\n")) {
          if (row === "") continue;
          expect(row).toBe(`row ${next++}`);
        }
      }
      expect(next - 1).toBe(world.lines);
    }),
    { numRuns: 300, interruptAfterTimeLimit: 20_000 },
  );
}, 60_000);
