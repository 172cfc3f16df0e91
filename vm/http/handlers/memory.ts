/** Memory: files of Markdown that agents are told from, and write to. */
import type { PeopleMemory } from "../../memory/people-memory.ts";
import type { MemorySearch } from "../../memory/search.ts";
import type { ApiHandlers } from "../api.ts";

export interface MemoryServices {
  peopleMemory: PeopleMemory;
  memorySearch: MemorySearch;
}

export function memoryHandlers({ peopleMemory, memorySearch }: MemoryServices): ApiHandlers["memory"] {
  return {
    list: async ({ query }) => ({ memories: await peopleMemory.list(query.dir) }),
    get: ({ query }) => peopleMemory.get(query),
    write: ({ body, by }) => peopleMemory.write(body, body.text, body.how, by),
    forget: ({ query, by }) => peopleMemory.write(query, null, "remove", by),
    search: async ({ query: { query, where, dir, limit }, by }) => {
      const folder = dir === undefined ? undefined : await peopleMemory.folderOf(dir);
      return memorySearch.ofPerson(by, query, where, { limit, folder });
    },
    undo: ({ body, by }) => peopleMemory.undo(body.writeId, by),
  };
}
