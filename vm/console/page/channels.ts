/** The channels of the list: whose threads stand below which, and who may do what in each. Pure. */
import type { Thread } from "../../../shared/api.ts";
import type { ChannelRow } from "../../../shared/channel-api.ts";
import type { PersonRow } from "../../../shared/people-api.ts";
import { MAY, RIGHTS, ROLES, type Role, roleIn } from "../../../shared/rights.ts";
import type { Placed } from "../../../shared/thread-tree.ts";

/** A channel with its threads; undefined: those that are in none that is served. */
export interface Group<T> {
  channel: ChannelRow | undefined;
  placed: Placed<T>[];
}

/** Below its first thread's channel each stays with its whole tree. Channels without threads are there too. */
export function byChannel<T extends Pick<Thread, "home">>(
  tree: readonly Placed<T>[],
  channels: readonly ChannelRow[],
): Group<T>[] {
  const groups: Group<T>[] = channels.map((channel) => ({ channel, placed: [] }));
  const elsewhere: Group<T> = { channel: undefined, placed: [] };
  let group = elsewhere;
  for (const placed of tree) {
    const parentId = placed.thread.home?.parentId;
    if (placed.depth === 0) group = groups.find(({ channel }) => channel?.id === parentId) ?? elsewhere;
    group.placed.push(placed);
  }
  return elsewhere.placed.length > 0 ? [...groups, elsewhere] : groups;
}

/** Who has a role in a channel. */
export interface Holders {
  role: Role;
  /** What it lets them do. */
  may: string;
  /** Rows of people, and of roles at Discord. */
  holders: PersonRow[];
}

/** The roles that somebody has in a channel, the one that may most first. What is nearer to a person counts. */
export function rolesOf(channelId: string, people: readonly PersonRow[]): Holders[] {
  const near = people.filter((row) => row.channelId === null || row.channelId === channelId);
  const known = new Map<string, PersonRow>();
  for (const row of near) {
    const key = `${row.kind} ${row.id}`;
    // Its name stands in the row of whoever told it.
    known.set(key, { ...row, handle: row.handle ?? known.get(key)?.handle ?? null });
  }
  const inChannel = [...known.values()].map((row) => {
    const who = row.kind === "user" ? { id: row.id, roles: [] } : { id: "", roles: [row.id] };
    return { row, role: roleIn(near, who, channelId) };
  });
  return ROLES.flatMap((role) => {
    const holders = inChannel.filter((one) => one.role === role).map(({ row }) => row);
    const may = MAY[role].map((right) => RIGHTS[right]).join("; ");
    return holders.length === 0 ? [] : [{ role, may, holders }];
  });
}
