/** Who may: the one place where the sidecar judges what somebody is allowed. */
import { AppError } from "../../shared/errors.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { PersonRow, RoleRequest } from "../../shared/people-api.ts";
import type { Principal } from "../../shared/principal.ts";
import { mayDo, type Right, type Role, refusalText, roleIn, rolesAnywhere } from "../../shared/rights.ts";

/** Who has a role, and which roles people have at Discord. */
interface Rows {
  list(): readonly PersonRow[];
  rolesOf(discordId: string): readonly string[];
  find(of: Pick<RoleRequest, "kind" | "id" | "channelId">): PersonRow | undefined;
  set(request: RoleRequest): void;
  noteRoles(discordId: string, roles: readonly string[]): void;
  hasServerRole(id: string): boolean | undefined;
}

export interface PeopleOptions {
  table: Rows;
  /** Who made the thread or the job that acts; undefined if it is nobody's, or not there any more. */
  findMaker: (of: Made) => Principal | undefined;
}

/** Somebody who acts for whoever made it: an agent, or a job whose run made an agent. */
type Made = Extract<Principal, { kind: "thread" | "job" }>;

/** An agent's family is never so deep. */
const MAX_DEPTH = 100;

/** Over the sidecar's rows. */
export function peopleOf({
  people,
  spoken,
  threads,
  jobs,
}: {
  people: Rows;
  spoken: { isMain(threadId: ThreadId): boolean };
  threads: { find(threadId: ThreadId): { createdBy: Principal } | undefined };
  jobs: { find(name: string): { createdBy: Principal } | undefined };
}): People {
  const findMaker = (of: Made) => {
    if (of.kind === "job") return jobs.find(of.name)?.createdBy;
    const id = knownThreadId.parse(of.threadId);
    // An agent that hears channels is theirs, whoever wrote first; its calls are judged by those who write now.
    return spoken.isMain(id) ? undefined : threads.find(id)?.createdBy;
  };
  return new People({ table: people, findMaker });
}

export class People {
  readonly #options: PeopleOptions;

  constructor(options: PeopleOptions) {
    this.#options = options;
  }

  /**
   * Whether somebody may do something. Who is no person may; an agent may what the person may who made its thread, or
   * the job that made it.
   * @param channelId undefined: in no channel that is known, so roles in all channels count alone
   */
  may(principal: Principal, right: Right, channelId: string | undefined): boolean {
    const discordId = this.#personOf(principal);
    return discordId === undefined || mayDo(this.#roleOf(discordId, channelId), right);
  }

  /**
   * Those of a list that somebody may read, in its order. Each channel is judged once.
   * @param channelOf as `channelId` of {@link may}; asked for no item if the list is nobody's in Discord
   */
  filterReadable<T>(
    principal: Principal,
    items: readonly T[],
    channelOf: (item: T) => string | undefined,
  ): T[] {
    const discordId = this.#personOf(principal);
    if (discordId === undefined) return [...items];
    const judged = new Map<string | undefined, boolean>();
    return items.filter((item) => {
      const channelId = channelOf(item);
      const may = judged.get(channelId) ?? mayDo(this.#roleOf(discordId, channelId), "read");
      judged.set(channelId, may);
      return may;
    });
  }

  /** @throws AppError `forbidden`, which says who could */
  judge(principal: Principal, right: Right, channelId: string | undefined): void {
    const discordId = this.#personOf(principal);
    if (discordId === undefined) return;
    const role = this.#roleOf(discordId, channelId);
    if (mayDo(role, right)) return;
    const isElsewhere = role === undefined && this.#anywhere(discordId).length > 0;
    this.#refuse(right, { role, channelId, isElsewhere });
  }

  /** As {@link judge}, in any channel; without a right, whether they have any role at all. @throws AppError `forbidden` */
  judgeAnywhere(principal: Principal, right?: Right): void {
    const discordId = this.#personOf(principal);
    if (discordId === undefined) return;
    const roles = this.#anywhere(discordId);
    if (right === undefined ? roles.length > 0 : roles.some((role) => mayDo(role, right))) return;
    this.#refuse(right ?? "read", { role: roles[0], channelId: undefined });
  }

  /** A person acts, and has these roles at Discord. */
  noteRoles(discordId: string, roles: readonly string[]): void {
    this.#options.table.noteRoles(discordId, roles);
  }

  list(): PersonRow[] {
    return [...this.#options.table.list()];
  }

  /**
   * Gives somebody a role, or takes it back.
   * @throws AppError `channel_fixed` if the relay's settings give it, `not_found` if there is none to take,
   * `invalid_request` if it is for a role that the server does not have at Discord
   */
  set(request: RoleRequest): PersonRow[] {
    const { table } = this.#options;
    const known = table.find(request);
    if (known?.isFixed)
      throw new AppError(
        "channel_fixed",
        "role: the relay's own settings (ALLOWED_USER_IDS, ROLES) give it; change it there, and restart the relay.",
      );
    if (request.role === null && !known)
      throw new AppError("not_found", `role: ${request.kind} ${request.id} has none there.`);
    if (request.role !== null && request.kind === "role" && table.hasServerRole(request.id) === false)
      throw new AppError(
        "invalid_request",
        `id: the server had no role ${request.id} at Discord when the relay looked last. Server Settings → Roles → ⋯ → Copy Role ID gives one's id.`,
      );
    table.set(request);
    return this.list();
  }

  #personOf(principal: Principal): string | undefined {
    let one: Principal | undefined = principal;
    for (let depth = 0; (one?.kind === "thread" || one?.kind === "job") && depth < MAX_DEPTH; depth++)
      one = this.#options.findMaker(one);
    return one?.kind === "person" ? one.discordId : undefined;
  }

  #roleOf(id: string, channelId: string | undefined): Role | undefined {
    const { table } = this.#options;
    return roleIn(table.list(), { id, roles: table.rolesOf(id) }, channelId);
  }

  #anywhere(id: string): Role[] {
    const { table } = this.#options;
    return rolesAnywhere(table.list(), { id, roles: table.rolesOf(id) });
  }

  #refuse(right: Right, who: Omit<Parameters<typeof refusalText>[1], "grants">): never {
    throw new AppError("forbidden", refusalText(right, { ...who, grants: this.#options.table.list() }));
  }
}
