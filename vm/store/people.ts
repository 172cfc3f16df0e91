/** Who has a role, and what is known of people in Discord. A role that the relay's settings give stands before others. */
import * as z from "zod";
import {
  type PersonRow,
  peopleReplySchema,
  type RoleRequest,
  type ServerRole,
  type ToldHandle,
  type ToldPerson,
} from "../../shared/people-api.ts";
import { hasRole } from "../../shared/rights.ts";
import type { Database } from "./database.ts";

/** The most people whose names and roles at Discord are kept; those who were noted first are forgotten first. */
const MAX_KNOWN = 10_000;
/** A role in all channels. */
const ALL = "";

const knownSchema = z.array(z.object({ id: z.string(), handle: z.string().nullable(), roles: z.string() }));
const rolesSchema = z.array(z.string());
const serverRolesSchema = z.array(z.object({ id: z.string(), handle: z.string().nullable() }));
const grantsSchema = z.array(
  z
    .object({
      kind: z.string(),
      id: z.string(),
      channel_id: z.string(),
      role: z.string(),
      is_fixed: z.number(),
    })
    .transform(({ channel_id, is_fixed, ...grant }) => ({
      ...grant,
      channelId: channel_id === ALL ? null : channel_id,
      isFixed: is_fixed === 1,
    })),
);

interface Known {
  handle: string | null;
  /** At Discord. */
  roles: readonly string[];
}

export class PeopleTable {
  readonly #db: Database;
  readonly #clearFixed;
  readonly #put;
  readonly #remove;
  readonly #list;
  readonly #putKnown;
  readonly #forget;
  readonly #maxKnown: number;
  readonly #onChange: () => void;
  /** Asked for each request that is made in a person's name. */
  #grants: readonly PersonRow[] = [];
  readonly #known: Map<string, Known>;
  readonly #clearServerRoles;
  readonly #putServerRole;
  /** What the roles of the relay's server are called at Discord, by their ids; none until the relay has said. */
  #serverRoles: ReadonlyMap<string, string | null>;

  /** @param onChange is told that somebody's role is another one now. */
  constructor(db: Database, onChange: () => void, maxKnown = MAX_KNOWN) {
    this.#db = db;
    this.#maxKnown = maxKnown;
    this.#onChange = onChange;
    this.#clearFixed = db.prepare("DELETE FROM grants WHERE is_fixed = 1");
    this.#put = db.prepare(
      `INSERT INTO grants (kind, id, channel_id, role, is_fixed) VALUES (@kind, @id, @channelId, @role, @isFixed)
       ON CONFLICT DO UPDATE SET role = @role`,
    );
    this.#remove = db.prepare(
      "DELETE FROM grants WHERE kind = @kind AND id = @id AND channel_id = @channelId AND is_fixed = 0",
    );
    this.#list = db.prepare(
      "SELECT kind, id, channel_id, role, is_fixed FROM grants ORDER BY is_fixed DESC, rowid",
    );
    this.#putKnown = db.prepare(
      `INSERT INTO people (id, handle, roles) VALUES (@id, @handle, @roles)
       ON CONFLICT DO UPDATE SET handle = @handle, roles = @roles`,
    );
    this.#forget = db.prepare("DELETE FROM people WHERE id = ?");
    const known = knownSchema.parse(db.prepare("SELECT id, handle, roles FROM people ORDER BY rowid").all());
    this.#known = new Map(
      known.map(({ id, handle, roles }) => [id, { handle, roles: rolesSchema.parse(JSON.parse(roles)) }]),
    );
    this.#clearServerRoles = db.prepare("DELETE FROM server_roles");
    this.#putServerRole = db.prepare("INSERT INTO server_roles (id, handle) VALUES (@id, @handle)");
    const serverRoles = serverRolesSchema.parse(db.prepare("SELECT id, handle FROM server_roles").all());
    this.#serverRoles = new Map(serverRoles.map(({ id, handle }) => [id, handle]));
    this.#grants = this.#read();
  }

  /** Those of the relay's settings first. */
  list(): readonly PersonRow[] {
    return this.#grants;
  }

  /** The roles at Discord that a person had when they acted last. */
  rolesOf(discordId: string): readonly string[] {
    return this.#known.get(discordId)?.roles ?? [];
  }

  /** What others call a person; undefined if nobody has said. */
  handleOf(discordId: string): string | undefined {
    return this.#known.get(discordId)?.handle ?? undefined;
  }

  /** A person acts, and has these roles at Discord. Of somebody to whom they give nothing here nothing is kept. */
  noteRoles(discordId: string, roles: readonly string[]): void {
    const before = this.#known.get(discordId);
    if (!before && !hasRole(this.#grants, { id: discordId, roles })) return;
    if (JSON.stringify(before?.roles ?? []) === JSON.stringify(roles)) return;
    this.#note(discordId, { handle: before?.handle ?? null, roles });
  }

  /** Whether the relay's server has a role at Discord; undefined until the relay has said which it has. */
  hasServerRole(id: string): boolean | undefined {
    return this.#serverRoles.size === 0 ? undefined : this.#serverRoles.has(id);
  }

  /** The server has these roles at Discord, and no other. */
  replaceServerRoles(roles: readonly ServerRole[]): void {
    this.#db.transaction(() => {
      this.#clearServerRoles.run();
      for (const role of roles) this.#putServerRole.run(role);
    });
    this.#serverRoles = new Map(roles.map(({ id, handle }) => [id, handle]));
    this.#grants = this.#read();
  }

  find({ kind, id, channelId }: Pick<RoleRequest, "kind" | "id" | "channelId">): PersonRow | undefined {
    return this.#grants.find((row) => row.kind === kind && row.id === id && row.channelId === channelId);
  }

  /**
   * The relay's settings name these, and nobody else.
   * @param handles what people are called; of somebody who has no role nothing is kept
   */
  replaceFixed(people: readonly ToldPerson[], handles: readonly ToldHandle[] = []): void {
    this.#change(() => {
      this.#clearFixed.run();
      for (const { kind, id, channelId, role, handle } of people) {
        this.#put.run({ kind, id, channelId: channelId ?? ALL, role, isFixed: 1 });
        if (kind === "user" && handle !== undefined) this.#note(id, { roles: this.rolesOf(id), handle });
      }
      this.#grants = this.#read();
      for (const { id, handle } of handles) {
        const roles = this.rolesOf(id);
        const isNews = this.handleOf(id) !== handle;
        if (isNews && hasRole(this.#grants, { id, roles })) this.#note(id, { roles, handle });
      }
    });
  }

  /** Gives a role to somebody to whom the relay's settings give none there. */
  set({ kind, id, channelId, role }: RoleRequest): void {
    const where = { kind, id, channelId: channelId ?? ALL };
    this.#change(() => {
      if (role === null) this.#remove.run(where);
      else this.#put.run({ ...where, role, isFixed: 0 });
    });
  }

  #note(id: string, known: Known): void {
    this.#putKnown.run({ id, handle: known.handle, roles: JSON.stringify(known.roles) });
    this.#known.set(id, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#maxKnown) break;
      this.#forget.run(oldest);
      this.#known.delete(oldest);
    }
    this.#grants = this.#read();
  }

  #change(work: () => void): void {
    const before = JSON.stringify(this.#grants.map(({ handle, ...grant }) => grant));
    this.#db.transaction(work);
    this.#grants = this.#read();
    if (JSON.stringify(this.#grants.map(({ handle, ...grant }) => grant)) !== before) this.#onChange();
  }

  #read(): readonly PersonRow[] {
    const rows = grantsSchema.parse(this.#list.all());
    const handleOf = ({ kind, id }: { kind: string; id: string }) =>
      (kind === "user" ? this.#known.get(id)?.handle : this.#serverRoles.get(id)) ?? null;
    const { people } = peopleReplySchema.parse({
      people: rows.map((row) => ({ ...row, handle: handleOf(row) })),
    });
    const isFirst = (row: PersonRow) =>
      people.find(
        ({ kind, id, channelId }) => kind === row.kind && id === row.id && channelId === row.channelId,
      ) === row;
    return people.filter(isFirst);
  }
}
