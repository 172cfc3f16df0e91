/** Messages of pages that a person deletes: each comes back, or stays away, whatever else waits to be sent or edited. */
import { DiscordAPIError } from "discord.js";
import pino from "pino";
import { expect, test } from "vitest";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { TranscriptContent, type TranscriptMark } from "../content/transcript/content.ts";
import { ask, call, done, end, feed, numbered, say, start } from "../content/transcript/testing/events.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import { ThreadDelivery, type ThreadDeliveryOptions } from "./thread-delivery.ts";

const THREAD = "1800000000000000000";

/** Discord, the sidecar and one relay; the relay edits once in `editIntervalMs`. */
class Side {
  readonly messages = new Map<string, string>();
  readonly rows = new Map<string, LedgerRow>();
  mark: (TranscriptMark & { seen: string; gone?: readonly string[] }) | undefined;
  /** Edits of messages that are gone. */
  missed = 0;
  content = new TranscriptContent({ starter: undefined });
  delivery = this.#open(100);
  #nextId = BigInt(THREAD);

  get texts(): string[] {
    return [...this.messages.values()];
  }

  async tell(events: Parameters<typeof feed>[1]): Promise<void> {
    feed(this.content, events);
    this.delivery.resume();
    await this.delivery.flush(5_000);
  }

  /** A person deletes the message; whether the relay is told is up to Discord. */
  remove(words: string, { isTold = true } = {}): void {
    const [id = ""] = [...this.messages].find(([, text]) => text.includes(words)) ?? [];
    this.messages.delete(id);
    if (isTold) this.delivery.noteDeleted(id);
  }

  async restart(events: Parameters<typeof feed>[1]): Promise<void> {
    await this.delivery.close();
    this.content = new TranscriptContent({ starter: undefined, mark: structuredClone(this.mark) });
    this.delivery = this.#open(1);
    await this.tell(events);
  }

  #open(editIntervalMs: number): ThreadDelivery<never> {
    const gone = () => {
      this.missed += 1;
      throw new DiscordAPIError({ message: "", code: 10008 } as never, 10008, 404, "PATCH", "", {});
    };
    const api = {
      send: async (_channel: string, { content }: { content: string }) => {
        const id = String(++this.#nextId);
        this.messages.set(id, content);
        return { id, content };
      },
      edit: async (_channel: string, id: string, { content = "" }) =>
        this.messages.has(id) ? void this.messages.set(id, content) : gone(),
      deleteMessage: async (_channel: string, id: string) => void this.messages.delete(id),
      listMessagesAfter: async (_channel: string, after: string) =>
        [...this.messages.keys()].filter((id) => BigInt(id) > BigInt(after)).map((id) => ({ id })),
      findChannel: async () => undefined,
    };
    const options: ThreadDeliveryOptions<never> = {
      threadId: aDiscordId(THREAD),
      content: this.content as never,
      rows: structuredClone([...this.rows.values()]),
      seen: THREAD,
      gone: this.mark?.gone,
      owner: "1",
      putMark: async (mark) => {
        this.mark = structuredClone(mark) as never;
      },
      putMessage: async (key, note) => {
        const sent = "messageId" in note ? note.messageId : null;
        this.rows.set(key, {
          key,
          messageId: sent === null ? null : aDiscordId(sent),
          after: null,
          nonce: null,
        });
      },
      api: api as unknown as DiscordApi,
      budget: { run: (work: () => Promise<void>) => work() } as unknown as Budget,
      botId: "9",
      log: pino({ level: "silent" }),
      now: Date.now,
      editIntervalMs,
      onRefused: () => undefined,
    };
    return new ThreadDelivery(options);
  }
}

const read = (id: string, name: string) => call(id, "Read", `Read ${name}`, { file_path: name });

test("what is deleted in mid-turn stands above what comes next, though no edit may be made yet", async () => {
  const side = new Side();
  await side.tell(numbered([start, say("First."), read("c1", "one")]));
  await side.tell(numbered([done("c1")], 4));
  expect(side.texts).toEqual([expect.stringContaining("one")]);
  // It has just been edited: the next edit must wait, a new message need not.
  side.remove("First.");
  await side.tell(numbered([read("c2", "two"), done("c2"), say("Worked."), end], 5));
  expect(side.texts).toEqual([
    expect.stringMatching(/First\..*one.*two/s),
    expect.stringContaining("Worked."),
  ]);
  expect(side.missed).toBe(0);
  await side.delivery.close();
});

test("what stays away because others stand below it is not looked for again by the next relays", async () => {
  const side = new Side();
  const events = numbered([start, read("c1", "one"), ask("q1", "c1"), read("c2", "two")]);
  await side.tell(events);
  const [one, , two] = side.texts;
  expect([one, two]).toEqual([expect.stringContaining("one"), expect.stringContaining("two")]);
  side.remove("Read `one`", { isTold: false });
  await side.restart(events);
  expect(side.missed).toBe(1);
  await side.restart(events);
  expect(side.missed).toBe(1);
  // Its place stays empty also when it would show something else.
  const more = numbered([done("c1"), done("c2"), end], 5);
  await side.tell(more);
  await side.restart([...events, ...more]);
  expect(side.texts.join("\n")).not.toContain("Read `one`");
  expect(side.missed).toBe(1);
  await side.delivery.close();
});
