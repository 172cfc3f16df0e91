/** Gives a room's members what was said in it. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { MAX_ROOM_LINES } from "../../shared/rooms/api.ts";
import type { Store } from "../store/store.ts";
import type { SaidFace, SaidPart } from "../threads/kinds/kind.ts";
import { lineText } from "./line-text.ts";

export class RoomSaid implements SaidFace {
  readonly #store: Pick<Store, "rooms">;

  constructor(store: Pick<Store, "rooms">) {
    this.#store = store;
  }

  /** Whether the reader is a member; one that has left reads no more. */
  isOpenTo(roomId: ThreadId, readerId: ThreadId): boolean {
    return this.#store.rooms.findRoomOf(readerId) === roomId;
  }

  /** @param since the number of a line */
  async read(roomId: ThreadId, since: number | undefined): Promise<SaidPart> {
    const { rooms } = this.#store;
    const end = rooms.findLastLine(roomId)?.seq ?? 0;
    if (since !== undefined && since > end)
      throw new AppError("range", `since: ${since} lies beyond the room's last line, ${end}.`);
    const from = since ?? Math.max(0, end - MAX_ROOM_LINES);
    const lines = rooms.listLines(roomId, from, MAX_ROOM_LINES);
    const readTo = lines.at(-1)?.seq ?? from;
    const marks = lines.find((line) => line.marks !== null)?.marks ?? undefined;
    const texts = lines.map((line) => lineText(line).trimEnd().replaceAll("\r\n", "\n"));
    return { texts, readTo, isMore: readTo < end, marks };
  }
}
