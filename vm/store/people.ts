/** Who in Discord has a role, and the channels that the relay serves: as the relay wrote them last. */
import * as z from "zod";
import {
  type ChannelRow,
  channelsReplySchema,
  type PersonRow,
  peopleReplySchema,
  type ToldPerson,
} from "../../shared/people-api.ts";
import type { Database } from "./database.ts";

const channelRow = z
  .object({ limits: z.string() })
  .loose()
  .transform(({ limits, ...row }) => ({ ...row, limits: JSON.parse(limits) as unknown }));

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

export class ChannelTable {
  readonly #db: Database;
  readonly #clear;
  readonly #insert;
  readonly #list;

  constructor(db: Database) {
    this.#db = db;
    this.#clear = db.prepare("DELETE FROM channels");
    this.#insert = db.prepare(
      `INSERT INTO channels (id, dir, mode, engine, model, limits, agent)
       VALUES (@id, @dir, @mode, @engine, @model, @limits, @agent)`,
    );
    this.#list = db.prepare(
      "SELECT id, dir, mode, engine, model, limits, agent FROM channels ORDER BY rowid",
    );
  }

  list(): ChannelRow[] {
    const channels = this.#list.all().map((row) => channelRow.parse(row));
    return channelsReplySchema.parse({ channels }).channels;
  }

  /** These, and no other. */
  replace(channels: readonly ChannelRow[]): void {
    this.#db.transaction(() => {
      this.#clear.run();
      for (const { limits, ...row } of channels) this.#insert.run({ ...row, limits: JSON.stringify(limits) });
    });
  }
}
