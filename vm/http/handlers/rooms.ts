/** Rooms. */
import type { People } from "../../callers/people.ts";
import type { Rooms } from "../../rooms/rooms.ts";
import type { Homes } from "../../threads/homes.ts";
import type { ApiHandlers } from "../api.ts";

export interface RoomServices {
  rooms: Rooms;
  homes: Pick<Homes, "channelsOf">;
  people: Pick<People, "filterReadable">;
}

export function roomHandlers({ rooms, homes, people }: RoomServices): ApiHandlers["rooms"] {
  return {
    create: ({ body, by }) => rooms.create(body, by),
    list: ({ by }) => ({ rooms: people.filterReadable(by, rooms.list(), homes.channelsOf()) }),
    get: ({ params }) => rooms.get(params.id),
    lines: ({ params, query }) => rooms.listLines(params.id, query),
    add: ({ params, body, by }) => rooms.add(params.id, body, by),
    remove: ({ params, body }) => rooms.remove(params.id, body.member),
    setProtocol: ({ params, body, by }) => rooms.setProtocol(params.id, body, by),
    stop: ({ params, by }) => rooms.stop(params.id, by),
  };
}
