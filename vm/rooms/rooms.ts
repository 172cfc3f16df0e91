/** Does with rooms what people and members ask for. */
import { createHash } from "node:crypto";
import type * as z from "zod";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { isOpen } from "../../shared/api.ts";
import { clip } from "../../shared/clip.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Principal } from "../../shared/principal.ts";
import {
  MAX_ROOM_LINES,
  type NewMember,
  type NewRoom,
  type Room,
  type roomLinesReplySchema,
  type roomProtocolRequestSchema,
} from "../../shared/rooms/api.ts";
import { MAX_MEMBERS } from "../../shared/rooms/protocol.ts";
import type { Agents } from "../agents/agents.ts";
import type { Marks } from "../agents/marks.ts";
import { Sources } from "../agents/sources.ts";
import { type FoundRoom, type RoomBook, rulesOf } from "./book.ts";
import { describeRoom } from "./describe.ts";
import type { RoomDriver } from "./driver.ts";
import { checkLead, memberIn } from "./found-member.ts";
import { makeMembers } from "./made-members.ts";
import { memberOf } from "./new-members.ts";
import { RoomMaking, type RoomMakingOptions } from "./room-making.ts";
import { namedIn, whyNoText } from "./turns.ts";

/** Events of a member that may end its turn in the room, or the round. */
const WAKES: ReadonlySet<string> = new Set([
  ...["turn_end", "delivery_update", "failure", "control", "spend_update", "usage_update"],
]);
/** The calls that say something in the room, or pass, as engines call them. */
const SPEAKS = /(^|_)(message|done)$/;
const MAX_CALL = 200;
/** A new member is told so many of the lines before it. */
const TOLD_LINES = 20;

export interface RoomsOptions extends RoomMakingOptions {
  book: RoomBook;
  driver: RoomDriver;
  agents: Pick<Agents, "foldNow">;
  marks: Pick<Marks, "findSpread" | "findSpreadNow">;
  now: () => number;
}

export class Rooms {
  readonly #options: RoomsOptions;
  readonly #sources: Sources;
  readonly #making: RoomMaking;

  constructor(options: RoomsOptions) {
    this.#options = options;
    this.#making = new RoomMaking(options);
    this.#sources = new Sources(options.store);
  }

  /** At the sidecar's start. */
  recover(): void {
    for (const threadId of this.#options.store.rooms.list()) this.#options.driver.wake(threadId);
  }

  /** @throws AppError as {@link RoomMaking.create} */
  async create(asked: NewRoom, by: Principal): Promise<Room> {
    const { threadId, maxUsd } = asked;
    await this.#making.create(asked, by);
    if (maxUsd === null) this.#note(threadId, "This room has no cap of money.");
    return this.get(threadId);
  }

  /** @throws AppError `not_found` */
  get(threadId: ThreadId): Room {
    return describeRoom(this.#options.book.get(threadId), this.#options);
  }

  list(): Room[] {
    const { store, book } = this.#options;
    return store.rooms.list().flatMap((threadId) => {
      const found = store.threads.find(threadId)?.isMade ? book.find(threadId) : undefined;
      return found ? [describeRoom(found, this.#options)] : [];
    });
  }

  /** @throws AppError `not_found` */
  listLines(threadId: ThreadId, { since }: { since: number }): z.input<typeof roomLinesReplySchema> {
    const { store, book } = this.#options;
    book.get(threadId);
    const lines = store.rooms.listLines(threadId, since, MAX_ROOM_LINES + 1);
    return {
      lines: lines.slice(0, MAX_ROOM_LINES).map(({ marks: _, logEnd: __, at, ...line }) => ({
        ...line,
        at: new Date(at).toISOString(),
      })),
      more: lines.length > MAX_ROOM_LINES,
    };
  }

  /** @throws AppError as {@link create} */
  async add(threadId: ThreadId, wanted: NewMember, by: Principal): Promise<Room> {
    const { store, book, driver, homes } = this.#options;
    const { members } = this.#getOpen(threadId);
    if (members.length >= MAX_MEMBERS)
      throw new AppError("unsupported", `A room has ${MAX_MEMBERS} members at most.`);
    const { dir = "." } = store.threads.find(threadId) ?? {};
    const making = { roomId: threadId, dir, channelId: homes.channelOf(threadId), by };
    await this.#making.add(wanted, making, (memberId) =>
      book.transaction(() => {
        const heard = Math.max(0, (store.rooms.findLastLine(threadId)?.seq ?? 0) - TOLD_LINES);
        const isTaken = (name: string) => store.rooms.hasName(threadId, name);
        const member = memberOf(this.#options, memberId, {
          heard,
          baseUsd: driver.costOf(memberId),
          isTaken,
        });
        store.rooms.addMember(threadId, member);
        makeMembers(store, [member]);
        this.#note(threadId, `@${member.name} is a member now, added by ${this.#sources.handleOf(by)}.`);
      }),
    );
    driver.wake(threadId);
    return this.get(threadId);
  }

  /** @throws AppError `not_found`, `thread_ended` */
  remove(threadId: ThreadId, wanted: string): Room {
    const { driver, homes } = this.#options;
    const member = memberIn(this.#getOpen(threadId).members, wanted, { field: "member", homes });
    driver.leave(threadId, member.name, "was removed, and is no member any more");
    driver.wake(threadId);
    return this.get(threadId);
  }

  /** The round that runs ends. @throws AppError `not_found`, `thread_ended`, `invalid_request` */
  setProtocol(
    threadId: ThreadId,
    { protocol, lead }: z.output<typeof roomProtocolRequestSchema>,
    by: Principal,
  ): Room {
    const { store, book, driver, homes } = this.#options;
    checkLead(protocol, lead);
    const { members } = this.#getOpen(threadId);
    const leadName = lead === undefined ? null : memberIn(members, lead, { field: "lead", homes }).name;
    book.transaction(() => {
      const why = `${this.#sources.handleOf(by)} has set the protocol ${protocol}`;
      if (book.get(threadId).row.turn.holders.length > 0) book.step(threadId, { type: "end", why });
      else book.write(threadId, { kind: "note", text: `${why}.` });
      store.rooms.update(threadId, { protocol, lead: leadName });
    });
    driver.wake(threadId);
    return this.get(threadId);
  }

  /** A person's stop: those who have the turn are interrupted. @throws AppError `not_found`, `thread_ended` */
  stop(threadId: ThreadId, by: Principal): { stopped: boolean } {
    const { book, driver } = this.#options;
    const { row } = this.#getOpen(threadId);
    if (row.turn.holders.length === 0) return { stopped: false };
    const why = `${this.#sources.handleOf(by)} has stopped it`;
    book.transaction(() => book.step(threadId, { type: "end", why }, { interrupts: true }));
    driver.wake(threadId);
    return { stopped: true };
  }

  /** Something has happened in a member's thread. */
  noteEvent(roomId: ThreadId, memberId: ThreadId, event: ThreadEvent): void {
    const { book, driver } = this.#options;
    if (WAKES.has(event.type)) driver.wake(roomId);
    if (event.type !== "tool_call" || SPEAKS.test(event.name)) return;
    const { row, members } = book.get(roomId);
    const own = members.find((member) => member.memberId === memberId);
    if (!own || !row.turn.holders.includes(own.name)) return;
    const text = clip(event.title, MAX_CALL);
    const key = `${memberId} call ${event.toolCallId}`;
    const { name, number } = own;
    // A call's title may be a stranger's words.
    const marks = this.#options.marks.findSpreadNow(memberId) ?? null;
    book.write(roomId, { kind: "call", name, number, text, key, marks });
    driver.wake(roomId);
  }

  /** The room that an agent is in. */
  findRoomOf(memberId: ThreadId): ThreadId | undefined {
    return this.#options.store.rooms.findRoomOf(memberId);
  }

  /**
   * A member says something to its room. The same call a second time says nothing more.
   * @throws AppError in words for the model, such as whose turn it is
   */
  async say(
    memberId: ThreadId,
    { text, callId }: { text: string; callId: string | undefined },
  ): Promise<void> {
    const { store, book, driver, marks } = this.#options;
    const spread = await marks.findSpread(memberId);
    const key = await this.#keyOf(memberId, callId, text);
    const roomId = this.#roomOf(memberId);
    book.transaction(() => {
      const { row, members } = book.get(roomId);
      if (store.rooms.hasKey(roomId, key)) return;
      const own = members.find((member) => member.memberId === memberId);
      const turnOf = row.turn.holders.map((name) => `@${name}`).join(", ");
      if (!own || !row.turn.holders.includes(own.name))
        throw new AppError(
          "unsupported",
          turnOf === ""
            ? `The room rests (${row.turn.why ?? "nobody has written yet"}): end your turn, a person begins the next round.`
            : `It is not your turn in the room: it is the turn of ${turnOf}. End your turn; you are told when it is yours.`,
        );
      const names = members.map(({ name }) => name);
      const said = { by: own.name, text, named: namedIn(text, names, own.name) };
      const why = whyNoText(rulesOf(row, members), row.turn, said);
      if (why !== undefined) throw new AppError("unsupported", why);
      const { name, number } = own;
      book.write(roomId, { kind: "text", name, number, text, key, marks: spread ?? null });
      book.step(roomId, { type: "text", ...said });
    });
    driver.wake(roomId);
  }

  /** A member has nothing to say in its turn. Out of its turn it changes nothing. */
  async pass(
    memberId: ThreadId,
    { ends, callId }: { ends: boolean; callId: string | undefined },
  ): Promise<void> {
    const { book, driver } = this.#options;
    const roomId = this.findRoomOf(memberId);
    if (roomId === undefined) return;
    const key = callId === undefined ? null : `${memberId} ${callId}`;
    const { row, members } = book.get(roomId);
    const own = members.find((member) => member.memberId === memberId);
    if (own && driver.pass(roomId, own.name, { turn: row.turn.turn, ends, key })) driver.wake(roomId);
  }

  /** Its name; of an engine that names no calls, the turn's and the text's. */
  async #keyOf(memberId: ThreadId, callId: string | undefined, text: string): Promise<string> {
    if (callId !== undefined) return `${memberId} ${callId}`;
    const { turn } = await this.#options.agents.foldNow(memberId);
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 32);
    return `${memberId} ${turn?.turnId ?? "none"} ${hash}`;
  }

  /** @throws AppError `not_found` */
  #roomOf(memberId: ThreadId): ThreadId {
    const roomId = this.findRoomOf(memberId);
    if (roomId === undefined)
      throw new AppError("not_found", 'to: you are in no room, so "room" is not open.');
    return roomId;
  }

  /** @throws AppError `not_found`, `thread_ended` */
  #getOpen(threadId: ThreadId): FoundRoom {
    const { store, book } = this.#options;
    const found = book.get(threadId);
    if (!isOpen(store.threads.find(threadId)?.status ?? "killed"))
      throw new AppError("thread_ended", `The room ${threadId} was ended.`);
    return found;
  }

  #note(threadId: ThreadId, text: string): void {
    this.#options.book.write(threadId, { kind: "note", text });
    this.#options.driver.wake(threadId);
  }
}
