/**
 * Who may what: one table, for everybody who asks. The sidecar judges by it at its door; the relay asks it before, so
 * that nothing is begun in Discord that would be refused. docs/security.md shows it.
 */

/** The one who may most first. */
export const ROLES = ["owner", "maker", "member", "viewer", "guest"] as const;
export type Role = (typeof ROLES)[number];

/** What each right lets a person do, in the words of a refusal. */
export const RIGHTS = {
  read: "look at what threads and jobs do",
  type: "write into threads",
  press: "steer threads: stop, undo, end them, and what else their buttons do",
  decide: "decide what agents ask, and change what they may do",
  run: "begin threads",
  jobs: "make and change jobs",
  settings: "change the settings of a channel",
  roles: "give and take roles",
  thoughts: "read what agents wrote for themselves",
  propose: "write what waits until somebody who may write lets it in",
} as const;
export type Right = keyof typeof RIGHTS;
export const RIGHT_NAMES = Object.keys(RIGHTS) as Right[];

const MEMBER: readonly Right[] = ["read", "type", "press", "decide"];
const MAKER: readonly Right[] = [...MEMBER, "run", "jobs", "settings"];

/** The table. */
export const MAY: Readonly<Record<Role, readonly Right[]>> = {
  owner: [...MAKER, "roles", "thoughts"],
  maker: MAKER,
  member: MEMBER,
  viewer: ["read"],
  guest: ["propose"],
};

/** A role that somebody has: a user, or whoever has a role at Discord; in one channel, or in all (null). */
export interface Grant {
  kind: "user" | "role";
  /** The id of the user, or of the role at Discord; that of everybody has the server's id. */
  id: string;
  channelId: string | null;
  role: Role;
}

/** A person at Discord, with their roles there. */
export interface Somebody {
  id: string;
  roles: readonly string[];
}

/**
 * What a person is in a channel. The nearest grant counts: to them in the channel, to their roles at Discord there, to
 * them in all channels, to their roles there; of several alike the one that may most. Who is an owner in all channels
 * is one in each.
 * @param channelId undefined: in no channel that is known, so grants in all channels count alone
 * @returns undefined if nobody has given them a role
 */
export function roleIn(
  grants: readonly Grant[],
  somebody: Somebody,
  channelId: string | undefined,
): Role | undefined {
  const own = grants.filter((grant) => isFor(grant, somebody));
  const everywhere = own.filter((grant) => grant.channelId === null);
  if (everywhere.some(({ role }) => role === "owner")) return "owner";
  const here = channelId === undefined ? [] : own.filter((grant) => grant.channelId === channelId);
  for (const near of [here, everywhere]) {
    const found = strongest(near.filter(({ kind }) => kind === "user")) ?? strongest(near);
    if (found) return found;
  }
  return undefined;
}

/** Whether somebody has a role in some channel. */
export function hasRole(grants: readonly Grant[], somebody: Somebody): boolean {
  return grants.some((grant) => isFor(grant, somebody));
}

/** As {@link roleIn}, in whichever channel they may most. */
export function rolesAnywhere(grants: readonly Grant[], somebody: Somebody): Role[] {
  const channels = [undefined, ...new Set(grants.flatMap(({ channelId }) => channelId ?? []))];
  return channels.flatMap((channelId) => roleIn(grants, somebody, channelId) ?? []);
}

export function mayDo(role: Role | undefined, right: Right): boolean {
  return role !== undefined && MAY[role].includes(right);
}

/** How many of those who could are named in a refusal. */
const MAX_NAMED = 5;

/** The sentence for who may not: what they are, what they wanted, and who could. */
export function refusalText(
  right: Right,
  {
    role,
    grants,
    channelId,
    isElsewhere = false,
  }: {
    role: Role | undefined;
    grants: readonly Grant[];
    channelId: string | undefined;
    /** They have a role in another channel. */
    isElsewhere?: boolean;
  },
): string {
  const who = whoCould(right, grants, channelId);
  if (role === undefined && isElsewhere)
    return `You have no role ${channelId === undefined ? "in all channels, and this is in none" : "in this channel"}, so you may not ${RIGHTS[right]}. ${who}`;
  if (role === undefined)
    return `You are not on the list of people who may use this bot (ALLOWED_USER_IDS, /here who:). ${who}`;
  return `You are a ${role} here, and may not ${RIGHTS[right]}. ${who}`;
}

/**
 * The sentence that names who may do something: the roles, and the first people and roles at Discord that have one.
 * @param channelId undefined: in no channel, so grants in all channels count alone
 */
export function whoCould(right: Right, grants: readonly Grant[], channelId: string | undefined): string {
  // A person's grant in all channels may be narrowed by another one in this channel.
  const isOverruled = ({ kind, id }: Grant) =>
    kind === "user" && !mayDo(roleIn(grants, { id, roles: [] }, channelId), right);
  const able = grants.filter(
    (grant) =>
      (grant.channelId === null || grant.channelId === channelId) &&
      mayDo(grant.role, right) &&
      !isOverruled(grant),
  );
  const names = [...new Set(able.map(({ kind, id }) => (kind === "user" ? `<@${id}>` : `<@&${id}>`)))];
  if (names.length === 0)
    return "Nobody has a role that allows it: ALLOWED_USER_IDS of the relay names owners.";
  const roles = ROLES.filter((role) => mayDo(role, right)).map((role) => `${role}s`);
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `${capital(joined(roles))} could: ${names.slice(0, MAX_NAMED).join(", ")}${more}.`;
}

function isFor(grant: Grant, { id, roles }: Somebody): boolean {
  return grant.kind === "user" ? grant.id === id : roles.includes(grant.id);
}

function strongest(grants: readonly Grant[]): Role | undefined {
  return ROLES.find((one) => grants.some(({ role }) => role === one));
}

function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
