/** Tells by the sidecar's rows who may do what in Discord. The sidecar judges each request again. */
import { AppError } from "../../shared/errors.ts";
import type { ToldPerson } from "../../shared/people-api.ts";
import {
  type Grant,
  hasRole,
  mayDo,
  type Right,
  type Role,
  refusalText,
  roleIn,
  type Somebody,
  whoCould,
} from "../../shared/rights.ts";
import type { Vm } from "../sidecar/vm.ts";

export interface AccessOptions {
  vm: Pick<Vm, "people">;
  /** The roles by the relay's own settings; they count until the sidecar has been asked. */
  people: readonly ToldPerson[];
  /** The server's id, which is also the id of the role @everyone. */
  guildId: string;
  /** The roles that a user has in the server; none if the user is no member. @throws what Discord fails with */
  findRoles: (userId: string) => Promise<readonly string[]>;
  /** The channel of a Discord thread; the id itself if no such thread is known. */
  channelOf: (placeId: string) => string;
}

/** Most people whose roles at Discord are remembered. */
const MAX_KNOWN = 10_000;

export class Access {
  readonly #options: AccessOptions;
  #grants: readonly Grant[];
  /** The roles at Discord of each user, as Discord told them last. */
  readonly #roles = new Map<string, readonly string[]>();

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#grants = options.people;
  }

  /** Reads again from the sidecar who has which role. */
  async refresh(): Promise<void> {
    this.#grants = await this.#options.vm.people.list();
  }

  /** Keeps the roles that Discord sends with a message or an interaction of a person. */
  note(userId: string, roles: readonly string[]): void {
    this.#roles.delete(userId);
    this.#roles.set(userId, [...roles, this.#options.guildId].sort());
    const [oldest] = this.#roles.keys();
    if (this.#roles.size > MAX_KNOWN && oldest !== undefined) this.#roles.delete(oldest);
  }

  /** Looks up the roles of people who have done nothing since the relay's start, if some role at Discord counts. */
  async learn(userIds: Iterable<string>): Promise<void> {
    if (!this.#grants.some(({ kind }) => kind === "role")) return;
    for (const userId of new Set(userIds))
      if (!this.#roles.has(userId)) this.note(userId, await this.#options.findRoles(userId));
  }

  /** Forgets a role that is gone at Discord, and takes back at the sidecar what it gave. @throws AppError */
  async forgetRole(roleId: string): Promise<void> {
    for (const [userId, roles] of this.#roles)
      if (roles.includes(roleId)) this.#roles.set(userId, without(roles, roleId));
    const rows = (await this.#options.vm.people.list()).filter(
      ({ kind, id }) => kind === "role" && id === roleId,
    );
    for (const { kind, id, channelId, isFixed } of rows)
      if (!isFixed) await this.#options.vm.people.setRole({ kind, id, channelId, role: null });
    await this.refresh();
  }

  /** The person's roles at Discord; undefined if nothing is known of them. */
  rolesOf(userId: string): readonly string[] | undefined {
    return this.#roles.get(userId);
  }

  /** Whether they have a role in some channel. */
  isSomebody(userId: string): boolean {
    return hasRole(this.#grants, this.#somebody(userId));
  }

  /** @param placeId a channel, or a thread in one */
  readonly may = (userId: string, right: Right, placeId: string): boolean =>
    mayDo(this.#roleOf(userId, placeId), right);

  /** @throws AppError `forbidden`, which says who could */
  judge(userId: string, right: Right, placeId: string): void {
    if (!this.may(userId, right, placeId))
      throw new AppError("forbidden", this.refusal(userId, right, placeId));
  }

  /** The sentence for somebody who may not: what they are, and who could. */
  readonly refusal = (userId: string, right: Right, placeId: string): string => {
    const role = this.#roleOf(userId, placeId);
    const channelId = this.#options.channelOf(placeId);
    const isElsewhere = role === undefined && this.isSomebody(userId);
    return refusalText(right, { role, grants: this.#grants, channelId, isElsewhere });
  };

  /** The sentence that names who may do something there. */
  readonly whoCould = (right: Right, placeId: string): string =>
    whoCould(right, this.#grants, this.#options.channelOf(placeId));

  #roleOf(userId: string, placeId: string): Role | undefined {
    return roleIn(this.#grants, this.#somebody(userId), this.#options.channelOf(placeId));
  }

  #somebody(userId: string): Somebody {
    return { id: userId, roles: this.#roles.get(userId) ?? [this.#options.guildId] };
  }
}

function without(roles: readonly string[], roleId: string): readonly string[] {
  return roles.filter((id) => id !== roleId);
}
