/** Finds out which permissions the bot has in a channel, and which it lacks. Pure. */
import { PermissionFlagsBits } from "discord.js";
import * as z from "zod";

const bits = z.string().regex(/^\d+$/).transform(BigInt);

export const guildSchema = z.object({
  name: z.string(),
  owner_id: z.string(),
  roles: z.array(z.object({ id: z.string(), permissions: bits })),
});
export const memberSchema = z.object({ roles: z.array(z.string()) });
const overwriteSchema = z.object({ id: z.string(), type: z.number(), allow: bits, deny: bits });
export const placeSchema = z.object({
  id: z.string(),
  type: z.number(),
  name: z.string().nullish(),
  guild_id: z.string().optional(),
  permission_overwrites: z.array(overwriteSchema).default([]),
});

/** The permissions that the README asks people to invite the bot with, in its order and by Discord's own names. */
const NEEDED: readonly [keyof typeof PermissionFlagsBits, string][] = [
  ["ViewChannel", "View Channel"],
  ["SendMessages", "Send Messages"],
  ["CreatePublicThreads", "Create Public Threads"],
  ["SendMessagesInThreads", "Send Messages in Threads"],
  ["ManageThreads", "Manage Threads"],
  ["AttachFiles", "Attach Files"],
  ["ReadMessageHistory", "Read Message History"],
  ["AddReactions", "Add Reactions"],
];

/** Discord's order: roles, then what the channel says of everyone, of roles, of the member. */
export function permissionsIn(
  place: z.infer<typeof placeSchema>,
  guild: z.infer<typeof guildSchema>,
  bot: { id: string; roles: readonly string[] },
): bigint {
  const all = BigInt(Object.values(PermissionFlagsBits).reduce((sum, bit) => sum | bit, 0n));
  if (guild.owner_id === bot.id) return all;
  // The role of everyone has the server's id.
  const everyone = place.guild_id ?? "";
  const own = new Set([everyone, ...bot.roles]);
  const base = guild.roles.filter(({ id }) => own.has(id)).reduce((sum, role) => sum | role.permissions, 0n);
  if ((base & PermissionFlagsBits.Administrator) !== 0n) return all;
  const { permission_overwrites: overwrites } = place;
  const steps = [
    overwrites.filter(({ id }) => id === everyone),
    overwrites.filter(({ id, type }) => type === 0 && id !== everyone && own.has(id)),
    overwrites.filter(({ id, type }) => type === 1 && id === bot.id),
  ];
  return steps.reduce((sum, step) => {
    const deny = step.reduce((denied, entry) => denied | entry.deny, 0n);
    return step.reduce((allowed, entry) => allowed | entry.allow, sum & ~deny);
  }, base);
}

/** The names of those that are missing. Without the first, nothing else counts. */
export function missingPermissions(permissions: bigint): string[] {
  return NEEDED.filter(([flag]) => (permissions & PermissionFlagsBits[flag]) === 0n).map(([, name]) => name);
}
