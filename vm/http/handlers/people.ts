/** People in Discord, and their roles. */
import type { people as routes } from "../../../shared/protocol/people.ts";
import type { People } from "../../callers/people.ts";
import type { PeopleTable } from "../../store/people.ts";
import type { Handlers } from "./handler.ts";

export interface PeopleServices {
  store: { people: PeopleTable };
  people: People;
}

export function peopleHandlers({ store, people }: PeopleServices): Handlers<typeof routes> {
  return {
    list: () => ({ people: people.list() }),
    put: ({ body }) => store.people.replaceFixed(body.people, body.handles),
    putServerRoles: ({ body }) => store.people.replaceServerRoles(body.roles),
    setRole: ({ body }) => ({ people: people.set(body) }),
  };
}
