/** Writes down each act in a room, and the turn that it gives on, in one transaction. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import {
  type RoomEvent,
  type RoomRules,
  type RoomTurn,
  TURNS_A_MEMBER,
} from "../../shared/rooms/protocol.ts";
import type { NewRoomLine, RoomMember, RoomRow } from "../store/rooms.ts";
import type { Store } from "../store/store.ts";
import { lineText } from "./line-text.ts";
import { stepRoom } from "./turns.ts";

/** More a room's log does not hold. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface FoundRoom {
  row: RoomRow;
  members: RoomMember[];
}

type Line = Pick<NewRoomLine, "kind" | "text"> & Partial<NewRoomLine>;

export class RoomBook {
  readonly #store: Pick<Store, "rooms" | "transaction">;
  readonly #now: () => number;

  constructor(store: Pick<Store, "rooms" | "transaction">, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  find(threadId: ThreadId): FoundRoom | undefined {
    const row = this.#store.rooms.find(threadId);
    return row && { row, members: this.#store.rooms.listMembers(threadId) };
  }

  /** @throws AppError `not_found` */
  get(threadId: ThreadId): FoundRoom {
    const found = this.find(threadId);
    if (!found) throw new AppError("not_found", `Thread ${threadId} is no room.`);
    return found;
  }

  /** Writes a line. One of a key that is there adds nothing. @throws AppError `too_large` */
  write(threadId: ThreadId, line: Line): void {
    const { rooms } = this.#store;
    const whole = { name: null, number: null, key: null, marks: null, at: this.#now(), ...line };
    if (whole.key !== null && rooms.hasKey(threadId, whole.key)) return;
    const isFull = (rooms.findLastLine(threadId)?.logEnd ?? 0) >= MAX_BYTES;
    if (isFull && (line.kind === "text" || line.kind === "person"))
      throw new AppError("too_large", "This room is full: 16 MiB were said in it; make another one.");
    if (isFull && line.kind === "call") return;
    rooms.addLine(threadId, whole, Buffer.byteLength(lineText(whole)));
  }

  /**
   * Gives the turn on. Call it in the transaction that writes what happened.
   * @param interrupts whether those who had the turn are to be stopped in it
   */
  step(threadId: ThreadId, event: RoomEvent, { interrupts = false } = {}): RoomTurn {
    const { rooms } = this.#store;
    const { row, members } = this.get(threadId);
    const turn = stepRoom(rulesOf(row, members), row.turn, event);
    const isNew = turn.turn !== row.turn.turn;
    const turnSince = turn.holders.length === 0 ? null : isNew ? this.#now() : row.turnSince;
    rooms.update(threadId, {
      turn,
      turnSince,
      ...(interrupts && { interrupts: [...new Set([...row.interrupts, ...row.turn.holders])] }),
    });
    if (turn.why !== null && row.turn.why !== turn.why)
      this.write(threadId, { kind: "note", text: `The round has ended: ${turn.why}.` });
    return turn;
  }

  transaction<T>(work: () => T): T {
    return this.#store.transaction(work);
  }
}

export function rulesOf({ protocol, lead, maxTurns }: RoomRow, members: readonly RoomMember[]): RoomRules {
  const order = members.map(({ name }) => name);
  return {
    ...{ protocol, order },
    lead: lead !== null && order.includes(lead) ? lead : null,
    maxTurns: maxTurns ?? TURNS_A_MEMBER * order.length,
  };
}
