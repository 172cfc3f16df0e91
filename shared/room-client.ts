/** The client's calls for rooms. What people say in one is an input of its thread. */
import type * as z from "zod";
import type { SidecarClient } from "./client.ts";
import { rooms } from "./protocol/rooms.ts";
import type {
  NewMember,
  NewRoomRequest,
  Room,
  RoomLine,
  roomProtocolRequestSchema,
  stopReplySchema,
} from "./rooms/api.ts";

export class RoomClient {
  readonly #client: Pick<SidecarClient, "call">;

  constructor(client: Pick<SidecarClient, "call">) {
    this.#client = client;
  }

  /** @throws AppError `invalid_request`, `not_found`, `thread_ended`, `unsupported`, `forbidden` */
  create(body: NewRoomRequest): Promise<Room> {
    return this.#client.call(rooms.create, {}, { body });
  }

  async list(): Promise<Room[]> {
    return (await this.#client.call(rooms.list, {})).rooms;
  }

  /** @throws AppError `not_found` */
  get(id: string): Promise<Room> {
    return this.#client.call(rooms.get, { id });
  }

  /** All lines after one, the oldest first. @throws AppError `not_found` */
  async listLines(id: string, since = 0): Promise<RoomLine[]> {
    const lines: RoomLine[] = [];
    for (let more = true; more; ) {
      const query = { since: lines.at(-1)?.seq ?? since };
      const reply = await this.#client.call(rooms.lines, { id }, { query });
      lines.push(...reply.lines);
      more = reply.more;
    }
    return lines;
  }

  add(id: string, member: NewMember): Promise<Room> {
    return this.#client.call(rooms.add, { id }, { body: member });
  }

  /** @param member its name in the room, its thread or its number */
  remove(id: string, member: string): Promise<Room> {
    return this.#client.call(rooms.remove, { id }, { body: { member } });
  }

  setProtocol(id: string, body: z.input<typeof roomProtocolRequestSchema>): Promise<Room> {
    return this.#client.call(rooms.setProtocol, { id }, { body });
  }

  stop(id: string): Promise<z.output<typeof stopReplySchema>> {
    return this.#client.call(rooms.stop, { id });
  }
}
