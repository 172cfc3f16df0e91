/** The client's calls for people's roles. */
import type { SidecarClient } from "./client.ts";
import type { PersonRow, RoleRequest, ServerRole } from "./people-api.ts";
import { people } from "./protocol/people.ts";

export class PeopleClient {
  readonly #client: Pick<SidecarClient, "call">;

  constructor(client: Pick<SidecarClient, "call">) {
    this.#client = client;
  }

  /** Who has which role: those of the relay's settings first. */
  async list(): Promise<PersonRow[]> {
    return (await this.#client.call(people.list, {})).people;
  }

  /**
   * Gives a role, or takes it back.
   * @throws AppError `channel_fixed`, `not_found`, `invalid_request` if the server has no such role at Discord
   */
  async setRole(body: RoleRequest): Promise<PersonRow[]> {
    return (await this.#client.call(people.setRole, {}, { body })).people;
  }

  /** Says which roles the relay's server has at Discord. */
  async putServerRoles(roles: readonly ServerRole[]): Promise<void> {
    await this.#client.call(people.putServerRoles, {}, { body: { roles: [...roles] } });
  }
}
