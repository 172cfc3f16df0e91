/** The messages of agents that speak with a tool, whom those agents heard where, and which agent hears a channel. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { type DiscordId, knownDiscordId, knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { MAX_LISTED_SPOKEN, type Spoken, type SpokenNote, spokenSchema } from "../../shared/voice-api.ts";
import type { Database } from "./database.ts";

const flag = z.number().transform((value) => value === 1);
const rowSchema = z
  .looseObject({ is_silent: flag, files: z.string() })
  .transform(({ message_id, thread_id, channel_id, reply_to, is_silent, files, ...row }) =>
    spokenSchema.parse({
      ...{ id: message_id, threadId: thread_id, channelId: channel_id, replyTo: reply_to },
      ...{ isSilent: is_silent, files: JSON.parse(files), ...row },
    }),
  );
const heardSchema = z.object({ input_id: z.string(), heard_at: z.int() });
const countSchema = z.object({ n: z.int() });
const idSchema = z.object({ thread_id: knownThreadId });
const channelSchema = z.object({ channel_id: knownDiscordId });
const personSchema = z.object({ person_id: z.string() });
const handOverSchema = z.object({ dir: z.string(), path: z.string(), at: z.int() });
const handingSchema = z.object({ thread_id: knownThreadId, hand_over: z.string() });

/** Where an agent goes on: relative to `REPOS_DIR`, and absolute; since when. */
export type HandOver = z.infer<typeof handOverSchema>;

/** The number of a thread's messages that are kept after they were said. */
const KEPT = 1_000;

export interface NewSpoken extends Omit<Spoken, "id" | "state"> {
  /** The engine's id of the call, or one made of what is said. */
  callId: string;
  turn: string;
  createdAt: number;
}

export class SpokenTable {
  readonly #onChange: () => void;
  readonly #insert;
  readonly #findCall;
  readonly #find;
  readonly #open;
  readonly #set;
  readonly #forget;
  readonly #countTurn;
  readonly #countTo;
  readonly #findSame;
  readonly #hear;
  readonly #findHeard;
  readonly #listHeard;
  readonly #listHeardIn;
  readonly #findMain;
  readonly #isMain;
  readonly #listMains;
  readonly #setMain;
  readonly #forgetMain;
  readonly #noteHandOver;
  readonly #listHandOvers;
  readonly #isHandedOver;
  #revision = randomUUID();

  /** @param onChange is told that something is to be said. */
  constructor(db: Database, onChange: () => void) {
    this.#onChange = onChange;
    this.#insert = db.prepare(
      `INSERT INTO spoken (thread_id, call_id, turn, address, channel_id, reply_to, text, files, is_silent, state, created_at)
       VALUES (@threadId, @callId, @turn, @address, @channelId, @replyTo, @text, @files, @isSilent, 'queued', @createdAt)
       ON CONFLICT DO NOTHING`,
    );
    this.#findCall = db.prepare("SELECT * FROM spoken WHERE thread_id = ? AND call_id = ?");
    this.#find = db.prepare("SELECT * FROM spoken WHERE message_id = ?");
    this.#open = db.prepare(
      `SELECT * FROM spoken WHERE state IN ('queued', 'sending') ORDER BY message_id LIMIT ${MAX_LISTED_SPOKEN}`,
    );
    this.#set = db.prepare(
      `UPDATE spoken SET state = @state, discord_id = @discordId, reason = @reason
       WHERE message_id = @id AND state IN ('queued', 'sending')`,
    );
    this.#forget = db.prepare(
      `DELETE FROM spoken WHERE thread_id = @threadId AND state IN ('sent', 'refused') AND message_id <
         (SELECT message_id FROM spoken WHERE thread_id = @threadId ORDER BY message_id DESC LIMIT 1 OFFSET ${KEPT})`,
    );
    this.#countTurn = db.prepare("SELECT count(*) AS n FROM spoken WHERE thread_id = ? AND turn = ?");
    this.#countTo = db.prepare(
      "SELECT count(*) AS n FROM spoken WHERE thread_id = ? AND address = ? AND created_at > ?",
    );
    this.#findSame = db.prepare(
      "SELECT * FROM spoken WHERE thread_id = ? AND address = ? AND text = ? AND files = ? AND created_at > ? ORDER BY message_id DESC",
    );
    this.#hear = db.prepare(
      `INSERT INTO spoken_heard (thread_id, channel_id, person_id, input_id, heard_at)
       VALUES (@threadId, @channelId, @personId, @inputId, @heardAt)
       ON CONFLICT DO UPDATE SET input_id = @inputId, heard_at = @heardAt`,
    );
    this.#findHeard = db.prepare(
      `SELECT input_id, heard_at FROM spoken_heard
       WHERE thread_id = @threadId AND channel_id = @channelId AND person_id = coalesce(@personId, person_id)
       ORDER BY heard_at DESC LIMIT 1`,
    );
    this.#listHeard = db.prepare(
      "SELECT person_id FROM spoken_heard WHERE thread_id = ? AND channel_id = ? ORDER BY heard_at DESC LIMIT 20",
    );
    this.#listHeardIn = db.prepare("SELECT DISTINCT channel_id FROM spoken_heard WHERE thread_id = ?");
    this.#findMain = db.prepare("SELECT thread_id FROM main_agents WHERE name = ?");
    this.#isMain = db.prepare("SELECT 1 FROM main_agents WHERE thread_id = ?");
    this.#listMains = db.prepare("SELECT thread_id FROM main_agents");
    this.#forgetMain = db.prepare("DELETE FROM main_agents WHERE name = ?");
    this.#noteHandOver = db.prepare("UPDATE main_agents SET hand_over = ? WHERE thread_id = ?");
    const begun = `FROM main_agents JOIN threads USING (thread_id)
      WHERE hand_over IS NOT NULL AND json_extract(hand_over, '$.path') <> path`;
    this.#listHandOvers = db.prepare(`SELECT thread_id, hand_over ${begun}`);
    this.#isHandedOver = db.prepare(`SELECT 1 ${begun} AND thread_id = ?`);
    this.#setMain = db.prepare(
      "INSERT INTO main_agents (name, thread_id) VALUES (?, ?) ON CONFLICT DO UPDATE SET thread_id = excluded.thread_id, hand_over = NULL",
    );
  }

  /** Another text whenever there is news, and after each start. */
  get revision(): string {
    return this.#revision;
  }

  /** The row of a call: the one that it has, or a new one. It may be part of a transaction: who is told looks after that. */
  add({ isSilent, files, ...row }: NewSpoken): Spoken {
    const { threadId, callId } = row;
    const { changes } = this.#insert.run({
      ...row,
      files: JSON.stringify(files),
      isSilent: Number(isSilent),
    });
    if (changes > 0) {
      this.#forget.run({ threadId });
      this.tell();
    }
    const added = this.findCall(threadId, callId);
    if (!added) throw new Error(`the row of call ${callId} is not there`);
    return added;
  }

  findCall(threadId: ThreadId, callId: string): Spoken | undefined {
    return oneOf(this.#findCall.get(threadId, callId));
  }

  find(id: number): Spoken | undefined {
    return oneOf(this.#find.get(id));
  }

  /** Neither sent nor refused; the oldest first. */
  listOpen(): Spoken[] {
    return this.#open.all().map((row) => rowSchema.parse(row));
  }

  /** Notes how a message ended; the first note counts. @returns whether it is news */
  note(id: number, note: SpokenNote): boolean {
    const { changes } = this.#set.run({
      id,
      state: note.state,
      discordId: note.state === "sent" ? note.messageId : null,
      reason: note.state === "refused" ? note.reason : null,
    });
    return changes > 0;
  }

  countTurn(threadId: ThreadId, turn: string): number {
    return countSchema.parse(this.#countTurn.get(threadId, turn)).n;
  }

  /** @param since in milliseconds since the epoch */
  countTo(threadId: ThreadId, address: string, since: number): number {
    return countSchema.parse(this.#countTo.get(threadId, address, since)).n;
  }

  /** The newest message of the same words and files. @param since in milliseconds since the epoch */
  findSame(
    { threadId, address, text, files }: Pick<Spoken, "threadId" | "address" | "text" | "files">,
    since: number,
  ): Spoken | undefined {
    return oneOf(this.#findSame.get(threadId, address, text, JSON.stringify(files), since));
  }

  /** A person's input in a channel has gone into a thread. */
  hear(heard: {
    threadId: ThreadId;
    channelId: string;
    personId: string;
    inputId: string;
    heardAt: number;
  }): void {
    this.#hear.run(heard);
  }

  /** The last input of a person, or of anybody, in a channel. */
  findHeard(
    threadId: ThreadId,
    channelId: string,
    personId?: string,
  ): { inputId: string; heardAt: number } | undefined {
    const row = this.#findHeard.get({ threadId, channelId, personId: personId ?? null });
    if (row === undefined) return undefined;
    const { input_id: inputId, heard_at: heardAt } = heardSchema.parse(row);
    return { inputId, heardAt };
  }

  /** Who was heard in a channel, the last one first. */
  listHeard(threadId: ThreadId, channelId: string): string[] {
    return this.#listHeard.all(threadId, channelId).map((row) => personSchema.parse(row).person_id);
  }

  /** The channels in which a thread heard somebody. */
  listHeardIn(threadId: ThreadId): DiscordId[] {
    return this.#listHeardIn.all(threadId).map((row) => channelSchema.parse(row).channel_id);
  }

  findMain(name: string): ThreadId | undefined {
    const row = this.#findMain.get(name);
    return row === undefined ? undefined : idSchema.parse(row).thread_id;
  }

  /** The agents that hear channels. */
  listMains(): ThreadId[] {
    return this.#listMains.all().map((row) => idSchema.parse(row).thread_id);
  }

  /** Whether a thread is the one that hears channels now. */
  isMain(threadId: ThreadId): boolean {
    return this.#isMain.get(threadId) !== undefined;
  }

  setMain(name: string, threadId: ThreadId): void {
    this.#setMain.run(name, threadId);
  }

  /** From here on the agent of a thread is to work elsewhere, also if this process ends now. */
  noteHandOver(threadId: ThreadId, handOver: HandOver): void {
    this.#noteHandOver.run(JSON.stringify(handOver), threadId);
  }

  /** Those that were begun and not completed: the thread's row still names the old directory. */
  listHandOvers(): { threadId: ThreadId; handOver: HandOver }[] {
    return z
      .array(handingSchema)
      .parse(this.#listHandOvers.all())
      .map((row) => ({
        threadId: row.thread_id,
        handOver: handOverSchema.parse(JSON.parse(row.hand_over)),
      }));
  }

  /** Whether a thread is being handed over: no runner of it may start. */
  isBeingHandedOver(threadId: ThreadId): boolean {
    return this.#isHandedOver.get(threadId) !== undefined;
  }

  /** The next message to a channel of that name makes another one. */
  forgetMain(name: string): void {
    this.#forgetMain.run(name);
  }

  /** Something is to be said, or an agent begins or ends its work on people's messages. */
  tell(): void {
    this.#revision = randomUUID();
    this.#onChange();
  }
}

function oneOf(row: unknown): Spoken | undefined {
  return row === undefined ? undefined : rowSchema.parse(row);
}
