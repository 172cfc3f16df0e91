/** Acts from a test as somebody who manages the server's roles and members. */
import { deny } from "./channels.ts";
import type { PermissionName } from "./permissions.ts";
import { addMember, allowRole, createRole, deleteRole, removeMember, setRoles } from "./roles.ts";
import type { SeenRole } from "./seen.ts";
import type { World } from "./state.ts";
import type { Snowflake } from "./types.ts";

export class RoleDriver {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** @throws DiscordError 30005 */
  create(name: string, allowed: readonly PermissionName[] = []): SeenRole {
    const { id } = createRole(this.#world, name, allowed);
    return { id, name };
  }

  /** Sets the permissions that a role gives. @throws DiscordError 10011 */
  allow(roleId: Snowflake, allowed: readonly PermissionName[]): void {
    allowRole(this.#world, roleId, allowed);
  }

  /** Takes a role away from all who have it. @throws DiscordError 10011, 50028 */
  delete(roleId: Snowflake): void {
    deleteRole(this.#world, roleId);
  }

  /** Sets a member's roles. @throws DiscordError 10007, 10011, 10013 */
  give(userId: Snowflake, ...roleIds: Snowflake[]): void {
    setRoles(this.#world, userId, roleIds);
  }

  /** Denies everybody with a role, or, with the server's own id, everybody; an empty list gives all back. */
  deny(roleId: Snowflake, names: readonly PermissionName[], channelId: Snowflake): void {
    deny(this.#world, this.#world.getChannel(channelId), roleId, names);
  }

  /** A person leaves the server. @throws DiscordError 10007, 10013 */
  leave(userId: Snowflake): void {
    removeMember(this.#world, userId);
  }

  /** A person who left comes back, without roles. */
  join(userId: Snowflake): void {
    addMember(this.#world, userId);
  }
}
