/** Rooms: who has the turn, who is in them, what was said. The turn and the text that gives it on are one transaction. */
import * as z from "zod";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { ROOM_LINE_KINDS, type RoomLineKind } from "../../shared/rooms/api.ts";
import { NO_TURN, ROOM_PROTOCOLS, type RoomProtocol, roomTurnSchema } from "../../shared/rooms/protocol.ts";
import type { Database } from "./database.ts";

const namesSchema = z.array(z.string());
const roomSchema = z
  .object({
    thread_id: knownThreadId,
    protocol: z.enum(ROOM_PROTOCOLS),
    lead: z.string().nullable(),
    max_turns: z.int().nullable(),
    max_usd: z.number().nullable(),
    turn_seconds: z.int(),
    turn: z.string(),
    turn_since: z.int().nullable(),
    interrupts: z.string(),
  })
  .transform((row) => ({
    threadId: row.thread_id,
    protocol: row.protocol,
    lead: row.lead,
    /** Null: as many for each member as usual. */
    maxTurns: row.max_turns,
    maxUsd: row.max_usd,
    turnSeconds: row.turn_seconds,
    turn: roomTurnSchema.parse(JSON.parse(row.turn)),
    /** In milliseconds since 1970. */
    turnSince: row.turn_since,
    /** The names of members whose turn is to be interrupted, and has not been. */
    interrupts: namesSchema.parse(JSON.parse(row.interrupts)),
  }));
export type RoomRow = z.output<typeof roomSchema>;
export type NewRoomRow = Pick<
  RoomRow,
  "threadId" | "protocol" | "lead" | "maxTurns" | "maxUsd" | "turnSeconds"
>;
export type RoomPatch = Partial<Pick<RoomRow, "protocol" | "lead" | "turn" | "turnSince" | "interrupts">>;

const memberSchema = z
  .object({
    name: z.string(),
    member_id: knownThreadId,
    number: z.int().nullable(),
    directive: z.string().nullable(),
    heard: z.int(),
    asked_turn: z.int(),
    last_id: z.string().nullable(),
    base_usd: z.number(),
  })
  .transform((row) => ({
    name: row.name,
    memberId: row.member_id,
    number: row.number,
    directive: row.directive,
    /** Its inbox has the room's lines up to this one. */
    heard: row.heard,
    /** The last turn that it was told it has. */
    askedTurn: row.asked_turn,
    /** The id of the newest message of the room in its inbox. */
    lastId: row.last_id,
    /** The cost of its thread when a person wrote in the room last, in dollars. */
    baseUsd: row.base_usd,
  }));
export type RoomMember = z.output<typeof memberSchema>;
export type NewRoomMember = Pick<
  RoomMember,
  "name" | "memberId" | "number" | "directive" | "heard" | "baseUsd"
>;

const lineSchema = z
  .object({
    seq: z.int(),
    at: z.int(),
    kind: z.enum(ROOM_LINE_KINDS),
    name: z.string().nullable(),
    number: z.int().nullable(),
    text: z.string(),
    marks: z.string().nullable(),
    log_end: z.int(),
  })
  .transform(({ log_end: logEnd, ...row }) => ({ ...row, logEnd }));
export type RoomLineRow = z.output<typeof lineSchema>;
export interface NewRoomLine {
  at: number;
  kind: RoomLineKind;
  name: string | null;
  number: number | null;
  text: string;
  /** One line of a key is added; null: it has none. */
  key: string | null;
  /** The source of text from outside that its writer had read; null if it had read none. */
  marks: string | null;
}

const idSchema = z.object({ thread_id: knownThreadId });
const countSchema = z.object({ n: z.int() });

export class RoomTable {
  readonly #db: Database;
  readonly #sql;

  constructor(db: Database) {
    this.#db = db;
    this.#sql = {
      insert: db.prepare(
        `INSERT INTO rooms (thread_id, protocol, lead, max_turns, max_usd, turn_seconds, turn)
         VALUES (@threadId, @protocol, @lead, @maxTurns, @maxUsd, @turnSeconds, @turn)`,
      ),
      find: db.prepare("SELECT * FROM rooms WHERE thread_id = ?"),
      list: db.prepare("SELECT thread_id FROM rooms ORDER BY rowid"),
      update: db.prepare(
        `UPDATE rooms SET protocol = @protocol, lead = @lead, turn = @turn, turn_since = @turnSince,
         interrupts = @interrupts WHERE thread_id = @threadId`,
      ),
      addMember: db.prepare(
        `INSERT INTO room_members (thread_id, name, member_id, number, directive, position, heard, base_usd)
         VALUES (@threadId, @name, @memberId, @number, @directive,
           (SELECT count(*) FROM room_members WHERE thread_id = @threadId), @heard, @baseUsd)`,
      ),
      members: db.prepare(
        "SELECT * FROM room_members WHERE thread_id = ? AND is_there = 1 ORDER BY position",
      ),
      allNames: db.prepare("SELECT count(*) AS n FROM room_members WHERE thread_id = ? AND name = ?"),
      leave: db.prepare(
        "UPDATE room_members SET is_there = 0 WHERE thread_id = ? AND name = coalesce(?, name)",
      ),
      roomOf: db.prepare("SELECT thread_id FROM room_members WHERE member_id = ? AND is_there = 1"),
      setHeard: db.prepare(
        "UPDATE room_members SET heard = @heard, asked_turn = @askedTurn, last_id = @lastId WHERE thread_id = @threadId AND name = @name",
      ),
      setBase: db.prepare("UPDATE room_members SET base_usd = ? WHERE thread_id = ? AND name = ?"),
      addLine: db.prepare(
        `INSERT INTO room_lines (thread_id, seq, at, kind, name, number, text, key, marks, log_end)
         VALUES (@threadId, @seq, @at, @kind, @name, @number, @text, @key, @marks, @logEnd)`,
      ),
      lastLine: db.prepare("SELECT * FROM room_lines WHERE thread_id = ? ORDER BY seq DESC LIMIT 1"),
      hasKey: db.prepare("SELECT count(*) AS n FROM room_lines WHERE thread_id = ? AND key = ?"),
      lines: db.prepare("SELECT * FROM room_lines WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?"),
      linesOfLog: db.prepare(
        "SELECT * FROM room_lines WHERE thread_id = ? AND log_end > ? ORDER BY seq LIMIT ?",
      ),
    };
  }

  insert(room: NewRoomRow): void {
    this.#sql.insert.run({ ...room, turn: JSON.stringify(NO_TURN) });
  }

  find(threadId: ThreadId): RoomRow | undefined {
    const row = this.#sql.find.get(threadId);
    return row === undefined ? undefined : roomSchema.parse(row);
  }

  list(): ThreadId[] {
    return this.#sql.list.all().map((row) => idSchema.parse(row).thread_id);
  }

  update(threadId: ThreadId, patch: RoomPatch): void {
    this.#db.transaction(() => {
      const row = this.find(threadId);
      if (!row) return;
      const { protocol, lead, turn, turnSince, interrupts }: RoomRow & { protocol: RoomProtocol } = {
        ...row,
        ...patch,
      };
      const texts = { turn: JSON.stringify(turn), interrupts: JSON.stringify(interrupts) };
      this.#sql.update.run({ threadId, protocol, lead, turnSince, ...texts });
    });
  }

  addMember(threadId: ThreadId, member: NewRoomMember): void {
    this.#sql.addMember.run({ threadId, ...member });
  }

  /** Those that are in it, in their order. */
  listMembers(threadId: ThreadId): RoomMember[] {
    return this.#sql.members.all(threadId).map((row) => memberSchema.parse(row));
  }

  /** Whether a member, also one that has left, is or was called so. */
  hasName(threadId: ThreadId, name: string): boolean {
    return countSchema.parse(this.#sql.allNames.get(threadId, name)).n > 0;
  }

  /** @param name without it, all leave */
  removeMember(threadId: ThreadId, name?: string): void {
    this.#sql.leave.run(threadId, name ?? null);
  }

  /** The room that an agent thread is in; it is in one at most. */
  findRoomOf(memberId: ThreadId): ThreadId | undefined {
    const row = this.#sql.roomOf.get(memberId);
    return row === undefined ? undefined : idSchema.parse(row).thread_id;
  }

  setHeard(
    threadId: ThreadId,
    { name, heard, askedTurn, lastId }: Pick<RoomMember, "name" | "heard" | "askedTurn" | "lastId">,
  ): void {
    this.#sql.setHeard.run({ threadId, name, heard, askedTurn, lastId });
  }

  setBase(threadId: ThreadId, name: string, baseUsd: number): void {
    this.#sql.setBase.run(baseUsd, threadId, name);
  }

  /** @param bytes what the line takes in the log */
  addLine(threadId: ThreadId, line: NewRoomLine, bytes: number): RoomLineRow {
    const last = this.findLastLine(threadId);
    const placed = { seq: (last?.seq ?? 0) + 1, logEnd: (last?.logEnd ?? 0) + bytes };
    this.#sql.addLine.run({ threadId, ...line, ...placed });
    const { key: _, ...rest } = line;
    return { ...rest, ...placed };
  }

  hasKey(threadId: ThreadId, key: string): boolean {
    return countSchema.parse(this.#sql.hasKey.get(threadId, key)).n > 0;
  }

  findLastLine(threadId: ThreadId): RoomLineRow | undefined {
    const row = this.#sql.lastLine.get(threadId);
    return row === undefined ? undefined : lineSchema.parse(row);
  }

  /** Those after a line, the oldest first. */
  listLines(threadId: ThreadId, after: number, limit: number): RoomLineRow[] {
    return this.#sql.lines.all(threadId, after, limit).map((row) => lineSchema.parse(row));
  }

  /** Those that end in the log behind an offset. */
  listLinesOfLog(threadId: ThreadId, offset: number, limit: number): RoomLineRow[] {
    return this.#sql.linesOfLog.all(threadId, offset, limit).map((row) => lineSchema.parse(row));
  }
}
