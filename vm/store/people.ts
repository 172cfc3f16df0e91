/** Who in Discord has a role, as the relay wrote it last. */
import { type PersonRow, peopleReplySchema, type ToldPerson } from "../../shared/people-api.ts";
import type { Database } from "./database.ts";

export class PeopleTable {
  readonly #db: Database;
  readonly #clear;
  readonly #insert;
  readonly #list;
  /** Asked for each request that is made in a person's name. */
  #people: ReadonlyMap<string, PersonRow>;

  constructor(db: Database) {
    this.#db = db;
    this.#clear = db.prepare("DELETE FROM people");
    this.#insert = db.prepare("INSERT INTO people (id, role, handle) VALUES (@id, @role, @handle)");
    this.#list = db.prepare("SELECT id, role, handle FROM people ORDER BY rowid");
    this.#people = this.#read();
  }

  find(discordId: string): PersonRow | undefined {
    return this.#people.get(discordId);
  }

  list(): PersonRow[] {
    return [...this.#people.values()];
  }

  /** These, and nobody else. */
  replace(people: readonly ToldPerson[]): void {
    const rows = people.map(({ id, role, handle = this.find(id)?.handle ?? null }) => ({ id, role, handle }));
    this.#db.transaction(() => {
      this.#clear.run();
      for (const row of rows) this.#insert.run(row);
    });
    this.#people = this.#read();
  }

  #read(): ReadonlyMap<string, PersonRow> {
    const { people } = peopleReplySchema.parse({ people: this.#list.all() });
    return new Map(people.map((person) => [person.id, person]));
  }
}
