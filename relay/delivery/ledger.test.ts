import fc from "fast-check";
import { expect, test } from "vitest";
import { type LedgerRow, type MessageRequest, messageRequestSchema } from "../../shared/ledger-api.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import type { OutgoingMessage } from "../discord/api.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { Ledger } from "./ledger.ts";
import { shownBy } from "./plan.ts";

const BOT = "900";
const THREAD = "1000";

/** Discord and the sidecar as a ledger sees them. Whatever is asked of them may be the last thing that it asks. */
class Remote {
  readonly messages: DiscordMessage[] = [];
  readonly rows = new Map<string, LedgerRow>();
  readonly #nonces = new Map<string, DiscordMessage>();
  #nextId = 1001;
  lists = 0;
  /** What happens before the answer is there. */
  onSent: ((id: string) => void) | undefined;
  /** Before or after which of the next calls the relay dies. */
  deaths: ("before" | "after" | undefined)[] = [];

  post(content: string, more: Partial<DiscordMessage> = {}): DiscordMessage {
    const id = String(this.#nextId++);
    const author = { id: BOT, bot: true };
    const message = {
      id: aDiscordId(id),
      channel_id: aDiscordId(THREAD),
      content,
      author,
      type: 0,
      components: [],
      attachments: [],
      message_snapshots: [],
      sticker_items: [],
      ...more,
    };
    this.messages.push(message);
    return message;
  }

  start({ isReused = false, isShared = false } = {}): Ledger {
    return new Ledger({
      isReused,
      isShared,
      mayChange: (key) => !key.startsWith("words."),
      findNewest: () => this.#call(() => this.messages.at(-1)?.id),
      threadId: aDiscordId(THREAD),
      rows: structuredClone([...this.rows.values()]),
      put: (key, note) => this.#call(() => this.#put(key, note)),
      api: {
        send: (_channelId, message) => this.#call(() => this.#send(message)),
        listMessagesAfter: (_channelId, after, maxPages = Infinity) =>
          this.#call(() => {
            this.lists++;
            return this.messages.filter(({ id }) => Number(id) > Number(after)).slice(0, 100 * maxPages);
          }),
      },
      botId: BOT,
    });
  }

  async #call<T>(work: () => T): Promise<T> {
    const death = this.deaths.shift();
    if (death === "before") throw new Error("dead");
    const result = work();
    if (death === "after") throw new Error("dead");
    return result;
  }

  #send({ content, nonce = "" }: OutgoingMessage): DiscordMessage {
    const known = this.#nonces.get(nonce);
    if (known) return known;
    // Discord trims, and a reply has a type of its own: what a message looks like says nothing.
    const message = this.post(content.trim(), { type: content.length % 2 === 0 ? 19 : 0 });
    this.#nonces.set(nonce, message);
    this.onSent?.(message.id);
    return message;
  }

  #put(key: string, note: MessageRequest): void {
    const parsed = messageRequestSchema.parse(note);
    for (const old of parsed.forget) this.rows.delete(old);
    if ("messageId" in parsed) {
      this.rows.set(key, { key, messageId: parsed.messageId, after: null, nonce: null });
      return;
    }
    for (const [other, row] of this.rows) if (row.messageId === null) this.rows.delete(other);
    this.rows.set(key, { key, messageId: null, after: parsed.after, nonce: parsed.nonce });
  }
}

const shows = (text: string) => shownBy({ text, buttons: [] });
const send = (ledger: Ledger, key: string, text: string) => ledger.send(key, { content: text }, shows(text));

test("what was sent is known again without a look at Discord", async () => {
  const remote = new Remote();
  const ledger = remote.start();
  await send(ledger, "page.0", "a");
  await send(ledger, "page.1", " b");
  expect(ledger.find("page.0")).toEqual({ id: "1001", shows: shows("a"), isGone: false });
  expect(ledger.find("page.1")?.shows).toBeUndefined(); // Discord made something else of it
  const again = remote.start();
  await again.settle();
  expect(again.keys).toEqual(["page.0", "page.1"]);
  expect(again.find("page.1")).toMatchObject({ id: "1002", shows: undefined, isGone: false });
  expect(remote.lists).toBe(0);
});

test("after a death in between, the message is the only one of ours that no row knows", async () => {
  const remote = new Remote();
  const ledger = remote.start();
  await send(ledger, "page.0", "a");
  remote.deaths = [undefined, "after"]; // the intent is noted, the message made, and nobody hears of it
  await expect(send(ledger, "ask.5", "b")).rejects.toThrow("dead");
  remote.post("a person's", { author: { id: "7" } });
  remote.post("an answer to a command", { interaction_metadata: { id: "1" }, type: 20 });
  remote.post("a follow-up", { interaction_metadata: { id: "1" } });
  remote.post("a renaming", { type: 4 });
  const again = remote.start();
  expect(again.keys).toContain("ask.5"); // it may exist
  await again.settle();
  expect(again.find("ask.5")?.id).toBe("1002");
  expect(remote.lists).toBe(1);
  await send(again, "page.1", "c");
  expect(remote.lists).toBe(1);
});

test("where another thread stood before, a death takes none of its messages for ours", async () => {
  const remote = new Remote();
  remote.post("of the thread that stood here before");
  const ledger = remote.start({ isReused: true });
  // Discord is asked for its newest message, the intent is noted, and the message is made or is not.
  for (const death of ["after", "before"] as const) {
    remote.deaths = [undefined, undefined, death];
    await expect(send(ledger, "page.0", "a")).rejects.toThrow("dead");
    const again = remote.start({ isReused: true });
    await again.settle();
    expect(again.find("page.0")?.id).toBe(death === "after" ? "1002" : undefined);
    remote.rows.clear();
  }
});

test("one that was never made is made, with the same nonce: Discord may make it late", async () => {
  const remote = new Remote();
  const ledger = remote.start();
  remote.deaths = [undefined, "before"];
  await expect(send(ledger, "page.0", "a")).rejects.toThrow("dead");
  const nonce = remote.rows.get("page.0")?.nonce;
  const again = remote.start();
  await again.settle();
  expect(again.find("page.0")).toBeUndefined();
  remote.deaths = [undefined, "before"];
  await expect(send(again, "page.0", "a")).rejects.toThrow("dead");
  expect(remote.rows.get("page.0")?.nonce).toBe(nonce);
  await again.settle();
  await send(again, "page.1", "b");
  expect(remote.rows.get("page.0")).toBeUndefined();
});

test("what a relay deleted before it died is found gone as a whole, the newest first", async () => {
  const remote = new Remote();
  const ledger = remote.start();
  for (const key of ["page.0", "page.1", "page.2", "page.3"]) await send(ledger, key, key);
  remote.messages.splice(1, 1);
  remote.messages.splice(2, 1); // page.1 and page.3
  const again = remote.start();
  expect(await again.findGone("page.1")).toEqual(["page.3", "page.1"]);
  again.noteGone("page.3", true);
  again.noteGone("page.1", false);
  expect(again.find("page.3")).toBeUndefined();
  expect(again.find("page.1")?.isGone).toBe(true);
  expect(again.find("page.2")?.isGone).toBe(false);
});

/** As a delivery does it: of all pages that it lists. */
async function readAll(ledger: Ledger): Promise<void> {
  for (let unread = ledger.unread(ledger.keys); unread.length > 0; unread = ledger.unread(ledger.keys))
    await ledger.read(unread);
}

test("what messages of an earlier process show is read once, before they are edited", async () => {
  const remote = new Remote();
  const ledger = remote.start();
  for (let i = 0; i < 9; i++) await send(ledger, `page.${i}`, `text ${i}`);
  expect(ledger.unread(ledger.keys)).toEqual([]);
  const again = remote.start();
  await readAll(again);
  await readAll(again);
  expect(remote.lists).toBe(1);
  for (let i = 0; i < 9; i++) expect(again.find(`page.${i}`)?.shows).toBe(shows(`text ${i}`));
});

test("of others' messages only those around ours are read; what is gone is known then", async () => {
  const remote = new Remote();
  const ledger = remote.start({ isShared: true });
  const others = (count: number) => {
    for (let i = 0; i < count; i++) remote.post("not ours", { author: { id: "7" } });
  };
  for (const key of ["page.0", "words.0", "page.1", "page.2", "page.3"]) {
    await send(ledger, key, key);
    if (key !== "page.0") others(1_000);
  }
  for (const gone of ["page.1", "page.3"])
    remote.messages.splice(
      remote.messages.findIndex(({ content }) => content === gone),
      1,
    );
  const again = remote.start({ isShared: true });
  remote.lists = 0;
  await readAll(again);
  const known = again.keys.map((key) => {
    const { shows, isDeleted } = again.find(key) ?? {};
    return [key, isDeleted ? "gone" : shows === undefined ? "not read" : "read"];
  });
  expect(Object.fromEntries(known)).toEqual({
    "page.0": "read",
    "words.0": "not read",
    "page.1": "gone",
    "page.2": "read",
    "page.3": "gone",
  });
  expect(remote.lists).toBe(4);
});

test("the newest row stays, whatever is needed", async () => {
  const remote = new Remote();
  const ledger = remote.start();
  for (const key of ["page.0", "page.1", "page.2"]) await send(ledger, key, key);
  ledger.prune(() => false);
  expect(ledger.keys).toEqual(["page.2"]);
  await send(ledger, "page.3", "3");
  expect([...remote.rows.keys()]).toEqual(["page.2", "page.3"]);
});

test("however often it dies, each message is made once, in order, and known by its key", async () => {
  const death = fc.constantFrom("before" as const, "after" as const, undefined, undefined, undefined);
  await fc.assert(
    fc.asyncProperty(
      fc.array(death, { maxLength: 60 }),
      fc.array(fc.constantFrom("x", "xx", " x "), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (deaths, texts, prunes) => {
        const remote = new Remote();
        remote.deaths = [...deaths];
        let ledger = remote.start();
        for (let i = 0; i < texts.length; ) {
          try {
            await ledger.settle();
            if (prunes) ledger.prune((key) => Number(key) >= i);
            if (ledger.find(String(i)) || (await send(ledger, String(i), texts[i] ?? ""))) i++;
          } catch {
            ledger = remote.start(); // dead: a new process takes over
          }
        }
        expect(remote.messages.map(({ content }) => content)).toEqual(texts.map((one) => one.trim()));
        for (const { key, messageId } of remote.rows.values()) {
          expect(messageId).toBe(remote.messages[Number(key)]?.id);
        }
        if (!prunes) expect(remote.rows.size).toBe(texts.length);
      },
    ),
    { numRuns: 500 },
  );
});

test("a message that is deleted before its answer comes is known as deleted", async () => {
  const remote = new Remote();
  const ledger = remote.start();
  await ledger.settle();
  remote.onSent = (id) => ledger.noteDeleted(id);
  await ledger.send("page.1", { content: "one" }, "one");
  expect(ledger.wasDeletedInFlight("page.1")).toBe(true);
  remote.onSent = undefined;
  await ledger.send("page.2", { content: "two" }, "two");
  expect(["page.1", "page.2"].map((key) => ledger.wasDeletedInFlight(key))).toEqual([false, false]);
});
