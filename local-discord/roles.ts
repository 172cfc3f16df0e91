/** Makes, gives and deletes roles, adds and removes members, and tells the gateway. */
import { refuse } from "./discord-error.ts";
import { bits, type PermissionName } from "./permissions.ts";
import type { World } from "./state.ts";
import type { Member, Role, Snowflake } from "./types.ts";

/**
 * Makes a role above all others, as somebody who manages the server does.
 * @throws DiscordError 30005
 */
export function createRole(world: World, name: string, allowed: readonly PermissionName[] = []): Role {
  const { roles } = world.data;
  if (roles.size >= world.limits.roles) throw refuse(30005);
  const position = [...roles.values()].reduce((last, role) => Math.max(last, role.position + 1), 0);
  const role: Role = { id: world.nextId(), name, permissions: String(bits(allowed)), position };
  roles.set(role.id, role);
  world.emit({ type: "role-create", role });
  return role;
}

/** Sets the permissions that a role gives. @throws DiscordError 10011 */
export function allowRole(world: World, roleId: Snowflake, allowed: readonly PermissionName[]): void {
  const role = getRole(world, roleId);
  role.permissions = String(bits(allowed));
  world.emit({ type: "role-update", role });
}

/** Deletes a role. Members lose it without an event of their own, as in Discord. @throws DiscordError 10011, 50028 */
export function deleteRole(world: World, roleId: Snowflake): void {
  const role = getRole(world, roleId);
  if (role.id === world.data.guildId || role.isManaged) throw refuse(50028);
  world.data.roles.delete(roleId);
  for (const member of world.data.members.values()) {
    member.roles = member.roles.filter((id) => id !== roleId);
  }
  world.emit({ type: "role-delete", role });
}

/** Sets a member's roles. @throws DiscordError 10007, 10011 */
export function setRoles(world: World, userId: Snowflake, roleIds: readonly Snowflake[]): void {
  const member = getMember(world, userId);
  for (const id of roleIds) getRole(world, id);
  // Every member has the server's own role, which is never listed.
  member.roles = [...new Set(roleIds)].filter((id) => id !== world.data.guildId);
  world.emit({ type: "member-update", userId });
}

/** A person leaves the server, or is sent away: what they wrote stays. @throws DiscordError 10007 */
export function removeMember(world: World, userId: Snowflake): void {
  getMember(world, userId);
  world.data.members.delete(userId);
  world.emit({ type: "member-remove", userId });
}

/** A person comes into the server, without roles. @throws DiscordError 10013 */
export function addMember(world: World, userId: Snowflake): void {
  world.getUser(userId);
  if (world.data.members.has(userId)) return;
  world.data.members.set(userId, { user_id: userId, roles: [], joined_at: world.isoNow() });
  world.emit({ type: "member-add", userId });
}

/** @throws DiscordError 10007, 10013 */
export function getMember(world: World, userId: Snowflake): Member {
  const member = world.data.members.get(world.getUser(userId).id);
  if (!member) throw refuse(10007);
  return member;
}

/** @throws DiscordError 10011 */
function getRole(world: World, roleId: Snowflake): Role {
  const role = world.data.roles.get(roleId);
  if (!role) throw refuse(10011);
  return role;
}
