/** Threads and their Discord threads. */
import * as z from "zod";
import { type Home, MAX_HOMELESS } from "../../shared/home-api.ts";
import { type DiscordId, knownDiscordId, knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { Database } from "./database.ts";

const rowSchema = z
  .object({
    channel_id: knownDiscordId.nullable(),
    after: knownDiscordId.nullable(),
    parent_id: knownDiscordId.nullable(),
  })
  .transform(
    ({ channel_id, after, parent_id }): Home => ({ channelId: channel_id, after, parentId: parent_id }),
  );
const namesSchema = z.array(z.object({ channel_id: knownDiscordId, thread_id: knownThreadId }));
const parentsSchema = z.array(z.object({ thread_id: knownThreadId, parent_id: knownDiscordId }));
const idSchema = z.object({ thread_id: knownThreadId }).transform(({ thread_id }) => thread_id);

export class HomeTable {
  readonly #find;
  readonly #findThread;
  readonly #findThreads;
  readonly #listParents;
  readonly #homeless;
  readonly #want;
  readonly #setAfter;
  readonly #setChannel;
  readonly #setParent;
  readonly #onHomeless: () => void;

  /** @param onHomeless is told that a thread wants a Discord thread. */
  constructor(db: Database, onHomeless: () => void) {
    this.#onHomeless = onHomeless;
    this.#find = db.prepare("SELECT channel_id, after, parent_id FROM homes WHERE thread_id = ?");
    this.#findThread = db.prepare("SELECT thread_id FROM homes WHERE channel_id = ?");
    this.#findThreads = db.prepare(
      "SELECT channel_id, thread_id FROM homes WHERE channel_id IN (SELECT value FROM json_each(?))",
    );
    this.#listParents = db.prepare("SELECT thread_id, parent_id FROM homes WHERE parent_id IS NOT NULL");
    this.#homeless = db.prepare(
      `SELECT thread_id FROM homes JOIN threads USING (thread_id)
       WHERE channel_id IS NULL AND is_made = 1 AND status NOT IN ('killed', 'lost')
       ORDER BY created_at, thread_id LIMIT ${MAX_HOMELESS}`,
    );
    this.#want = db.prepare("INSERT INTO homes (thread_id) VALUES (?) ON CONFLICT DO NOTHING");
    this.#setAfter = db.prepare("UPDATE homes SET after = ? WHERE thread_id = ?");
    this.#setParent = db.prepare("UPDATE homes SET parent_id = ? WHERE thread_id = ?");
    this.#setChannel = db.prepare("UPDATE homes SET channel_id = ? WHERE thread_id = ?");
  }

  /** Undefined: it needs none, its own id is its Discord thread's, or nobody wants it in Discord. */
  find(threadId: ThreadId): Home | undefined {
    const row = this.#find.get(threadId);
    return row === undefined ? undefined : rowSchema.parse(row);
  }

  /** The thread whose Discord thread this is. */
  findThread(channelId: string): ThreadId | undefined {
    const row = this.#findThread.get(channelId);
    return row === undefined ? undefined : idSchema.parse(row);
  }

  /** As {@link findThread}, of many in one look: by the Discord thread. */
  findThreads(channelIds: readonly string[]): Map<string, ThreadId> {
    const rows = namesSchema.parse(this.#findThreads.all(JSON.stringify(channelIds)));
    return new Map(rows.map(({ channel_id, thread_id }) => [channel_id, thread_id]));
  }

  /** The channel of each thread that has one. */
  listParents(): Map<ThreadId, DiscordId> {
    const rows = parentsSchema.parse(this.#listParents.all());
    return new Map(rows.map(({ thread_id, parent_id }) => [thread_id, parent_id]));
  }

  /** Open threads that want a Discord thread, the oldest first. */
  listHomeless(): ThreadId[] {
    return this.#homeless.all().map((row) => idSchema.parse(row));
  }

  want(threadId: ThreadId): void {
    this.#want.run(threadId);
  }

  /** A thread that wants one is made now. */
  tellHomeless(): void {
    this.#onHomeless();
  }

  setAfter(threadId: ThreadId, after: string): void {
    this.#setAfter.run(after, threadId);
  }

  /** The channel that its Discord thread is in, or is to be made in. */
  setParent(threadId: ThreadId, parentId: DiscordId): void {
    this.#setParent.run(parentId, threadId);
  }

  setChannel(threadId: ThreadId, channelId: DiscordId): void {
    this.#setChannel.run(channelId, threadId);
  }
}
