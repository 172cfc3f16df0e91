/** People in Discord, their roles, and the channels that the relay serves. */
import type { people as routes } from "../../../shared/protocol/people.ts";
import type { ChannelTable, PeopleTable } from "../../store/people.ts";
import type { Handlers } from "./handler.ts";

export interface PeopleServices {
  store: { people: PeopleTable; channels: ChannelTable };
}

export function peopleHandlers({ store: { people, channels } }: PeopleServices): Handlers<typeof routes> {
  return {
    list: () => ({ people: people.list() }),
    put: ({ body }) => people.replace(body.people),
    listChannels: () => ({ channels: channels.list() }),
    putChannels: ({ body }) => channels.replace(body.channels),
  };
}
