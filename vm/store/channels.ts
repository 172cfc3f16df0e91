/**
 * The channels that the relay serves. A row that the relay's own settings name stands before one that people set of the
 * same channel, which is there again once the settings name it no more.
 */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import {
  type ChannelPlace,
  type ChannelRow,
  type ChannelSettings,
  channelSchema,
  type FixedChannel,
} from "../../shared/channel-api.ts";
import type { Database } from "./database.ts";

const flag = z.number().transform((value) => value === 1);
const rowSchema = z
  .object({ limits: z.string(), worktree: flag, is_fixed: flag, permission_mode: z.string().nullable() })
  .loose()
  .transform(({ limits, is_fixed, permission_mode, ...row }) =>
    channelSchema.parse({
      ...row,
      limits: JSON.parse(limits),
      isFixed: is_fixed,
      permissionMode: permission_mode,
    }),
  );
const COLUMNS = "dir, mode, engine, model, permission_mode, directive, limits, worktree, agent";

export class ChannelTable {
  readonly #db: Database;
  readonly #clearFixed;
  readonly #put;
  readonly #putPlace;
  readonly #remove;
  readonly #list;
  readonly #onChange: () => void;
  #revision = randomUUID();

  /** @param onChange is told that a row is another one now. */
  constructor(db: Database, onChange: () => void) {
    this.#db = db;
    this.#onChange = () => {
      this.#revision = randomUUID();
      onChange();
    };
    this.#clearFixed = db.prepare("DELETE FROM served_channels WHERE is_fixed = 1");
    this.#put = db.prepare(
      `INSERT INTO served_channels (id, is_fixed, ${COLUMNS}, name, problem)
       VALUES (@id, @isFixed, @dir, @mode, @engine, @model, @permissionMode, @directive, @limits, @worktree, @agent, @name, @problem)
       ON CONFLICT DO UPDATE SET dir = @dir, mode = @mode, engine = @engine, model = @model,
         permission_mode = @permissionMode, directive = @directive, limits = @limits, worktree = @worktree,
         agent = @agent`,
    );
    this.#putPlace = db.prepare("UPDATE served_channels SET name = @name, problem = @problem WHERE id = @id");
    this.#remove = db.prepare("DELETE FROM served_channels WHERE is_fixed = 0 AND id = ?");
    this.#list = db.prepare(
      `SELECT id, is_fixed, ${COLUMNS}, name, problem FROM served_channels ORDER BY is_fixed DESC, rowid`,
    );
  }

  /** The first one first: one that the relay's settings name. */
  list(): ChannelRow[] {
    const rows = this.#list.all().map((row) => rowSchema.parse(row));
    return rows.filter(({ id }, at) => rows.findIndex((row) => row.id === id) === at);
  }

  /** What is kept with the channels is another one now: who may what in them. */
  noteChange(): void {
    this.#onChange();
  }

  /** Another text whenever a row's settings are others than before, and after each start. */
  get revision(): string {
    return this.#revision;
  }

  find(channelId: string): ChannelRow | undefined {
    return this.list().find(({ id }) => id === channelId);
  }

  /** These, and no other, are those that the relay's settings name. */
  replaceFixed(channels: readonly FixedChannel[]): void {
    const before = this.list();
    const known = new Map(before.map((row) => [row.id, row]));
    this.#db.transaction(() => {
      this.#clearFixed.run();
      for (const { limits, worktree, ...row } of channels) {
        const { name = null, problem = null } = known.get(row.id) ?? {};
        const values = { ...row, name, problem, isFixed: 1, worktree: Number(worktree) };
        this.#put.run({ ...values, limits: JSON.stringify(limits) });
      }
    });
    if (JSON.stringify(this.list()) !== JSON.stringify(before)) this.#onChange();
  }

  /** Writes the settings of a channel that is not fixed. */
  put(channelId: string, { limits, worktree, ...settings }: ChannelSettings): void {
    const values = { ...settings, limits: JSON.stringify(limits), worktree: Number(worktree) };
    this.#put.run({ ...values, id: channelId, isFixed: 0, name: null, problem: null });
    this.#onChange();
  }

  putPlace(channelId: string, place: ChannelPlace): void {
    this.#putPlace.run({ ...place, id: channelId });
  }

  remove(channelId: string): void {
    this.#remove.run(channelId);
    this.#onChange();
  }
}
