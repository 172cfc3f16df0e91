/** People in Discord, and their roles. */
import type { people as routes } from "../../../shared/protocol/people.ts";
import type { PeopleTable } from "../../store/people.ts";
import type { Handlers } from "./handler.ts";

export interface PeopleServices {
  store: { people: PeopleTable };
}

export function peopleHandlers({ store: { people } }: PeopleServices): Handlers<typeof routes> {
  return {
    list: () => ({ people: people.list() }),
    put: ({ body }) => people.replace(body.people),
  };
}
