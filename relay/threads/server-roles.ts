/** Tells the sidecar which roles the server has at Discord, and says which of the relay's own settings it does not have. */
import { cleanLine } from "../../shared/clean-text.ts";
import { clip } from "../../shared/clip.ts";
import { coalesced } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { MAX_HANDLE, type ServerRole, type ToldPerson } from "../../shared/people-api.ts";
import type { PeopleClient } from "../../shared/people-client.ts";

export interface ServerRolesOptions {
  vm: { people: Pick<PeopleClient, "putServerRoles"> };
  /** The roles that Discord has told of; undefined while the server is out of reach. */
  list: () => readonly { id: string; name: string }[] | undefined;
  /** The people, and roles at Discord, that the relay's settings name. */
  people: readonly ToldPerson[];
  log: Log;
}

export class ServerRoles {
  readonly #options: ServerRolesOptions;
  /** Those of the settings of which the log says that they are missing. */
  readonly #warned = new Set<string>();

  constructor(options: ServerRolesOptions) {
    this.#options = options;
  }

  /** Whether the server has a role; undefined while it is out of reach. */
  has(id: string): boolean | undefined {
    return this.#options.list()?.some((role) => role.id === id);
  }

  /** Says all of them: the same again changes nothing. Calls that come meanwhile are one more. @throws AppError */
  readonly tell = coalesced(async () => {
    const { list, vm } = this.#options;
    const roles = list();
    if (roles === undefined || roles.length === 0) return;
    this.#warn();
    await vm.people.putServerRoles(
      roles.map(({ id, name }): ServerRole => ({ id, handle: nameOf(name) }) as ServerRole),
    );
  });

  #warn(): void {
    for (const { kind, id } of this.#options.people) {
      if (kind !== "role" || this.has(id) !== false || this.#warned.has(id)) continue;
      this.#warned.add(id);
      this.#options.log.warn(
        { roleId: id },
        "ROLES: the server has no such role, so nobody has anything by it",
      );
    }
  }
}

function nameOf(name: string): string | null {
  return clip(cleanLine(name).trim(), MAX_HANDLE) || null;
}
