/** Who may do what: Discord's permission bits and how roles and overwrites add up. Pure. */
import type { Overwrite, Role, Snowflake } from "./types.ts";

export const Permission = {
  administrator: 1n << 3n,
  manageChannels: 1n << 4n,
  addReactions: 1n << 6n,
  viewChannel: 1n << 10n,
  sendMessages: 1n << 11n,
  manageMessages: 1n << 13n,
  embedLinks: 1n << 14n,
  attachFiles: 1n << 15n,
  readMessageHistory: 1n << 16n,
  mentionEveryone: 1n << 17n,
  useApplicationCommands: 1n << 31n,
  manageThreads: 1n << 34n,
  createPublicThreads: 1n << 35n,
  sendMessagesInThreads: 1n << 38n,
} as const;

export type PermissionName = keyof typeof Permission;

export const ALL_PERMISSIONS = Object.values(Permission).reduce((all, bit) => all | bit, 0n);

const NOTHING_BUT_ADMIN = Permission.administrator | Permission.manageChannels;

/** What everybody in the guild may do; a usual server's @everyone. */
export const EVERYONE_PERMISSIONS =
  Permission.viewChannel |
  Permission.sendMessages |
  Permission.sendMessagesInThreads |
  Permission.readMessageHistory |
  Permission.addReactions |
  Permission.embedLinks |
  Permission.attachFiles |
  Permission.createPublicThreads |
  Permission.useApplicationCommands;

/** What a relay bot is invited with: the least it needs, neither MENTION_EVERYONE nor ADMINISTRATOR. */
export const BOT_PERMISSIONS =
  (EVERYONE_PERMISSIONS | Permission.manageThreads) & ~NOTHING_BUT_ADMIN & ~Permission.mentionEveryone;

export function bits(names: readonly PermissionName[]): bigint {
  return names.reduce((all, name) => all | Permission[name], 0n);
}

export function has(permissions: bigint, needed: bigint): boolean {
  return (permissions & needed) === needed;
}

/**
 * A member's permissions in a channel (for a thread: pass the parent's overwrites, threads have none).
 * Order of the rules: owner, roles, administrator, then overwrites of everyone, of roles, of the member.
 */
export function computePermissions(input: {
  guildId: Snowflake;
  ownerId: Snowflake;
  userId: Snowflake;
  roleIds: readonly Snowflake[];
  roles: readonly Role[];
  overwrites: readonly Overwrite[];
}): bigint {
  if (input.userId === input.ownerId) return ALL_PERMISSIONS;
  const own = new Set([input.guildId, ...input.roleIds]);
  const base = input.roles
    .filter((role) => own.has(role.id))
    .reduce((all, role) => all | BigInt(role.permissions), 0n);
  if (has(base, Permission.administrator)) return ALL_PERMISSIONS;

  const everyone = input.overwrites.filter((entry) => entry.type === 0 && entry.id === input.guildId);
  const ofRoles = input.overwrites.filter(
    (entry) => entry.type === 0 && entry.id !== input.guildId && own.has(entry.id),
  );
  const ofMember = input.overwrites.filter((entry) => entry.type === 1 && entry.id === input.userId);
  const inChannel = [everyone, ofRoles, ofMember].reduce(apply, base);

  // Without VIEW_CHANNEL nothing else counts; without SEND_MESSAGES neither do the rights that ride on it.
  if (!has(inChannel, Permission.viewChannel)) return 0n;
  return inChannel;
}

/** What is left in a channel proper (not in a thread) when SEND_MESSAGES is denied. */
export function withoutSending(permissions: bigint): bigint {
  if (has(permissions, Permission.sendMessages)) return permissions;
  return permissions & ~(Permission.attachFiles | Permission.embedLinks | Permission.mentionEveryone);
}

function apply(permissions: bigint, overwrites: readonly Overwrite[]): bigint {
  const deny = overwrites.reduce((all, entry) => all | BigInt(entry.deny), 0n);
  const allow = overwrites.reduce((all, entry) => all | BigInt(entry.allow), 0n);
  return (permissions & ~deny) | allow;
}
