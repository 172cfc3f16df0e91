/** Makes rooms, and members of them: a failure or a kill between the two leaves neither. */
import { DEFAULT_COLS, DEFAULT_ROWS } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId, ThreadId } from "../../shared/ids.ts";
import type { Principal } from "../../shared/principal.ts";
import type { NewMember, NewRoom } from "../../shared/rooms/api.ts";
import type { NewRoomMember } from "../store/rooms.ts";
import type { Creation } from "../threads/creation.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";
import type { RoomDriver } from "./driver.ts";
import { checkLead, memberIn } from "./found-member.ts";
import { type Making, type MakingOptions, memberRequest } from "./made-members.ts";
import { type MembersOptions, memberOf, memberThread } from "./new-members.ts";

export interface RoomMakingOptions extends MembersOptions, MakingOptions {
  creation: Pick<Creation, "create" | "begin" | "finish" | "giveUp">;
  driver: Pick<RoomDriver, "costOf">;
}

export class RoomMaking {
  readonly #options: RoomMakingOptions;

  constructor(options: RoomMakingOptions) {
    this.#options = options;
  }

  /**
   * @throws AppError `invalid_request`, `not_found`, `thread_ended`, `unsupported`, `forbidden`, and as a creation
   */
  async create({ members, lead, ...asked }: NewRoom, by: Principal): Promise<void> {
    const { creation, homes } = this.#options;
    const { threadId, protocol, maxTurns = null, maxUsd, turnSeconds, dir, title, home } = asked;
    const { channelId = channelOfHome(home) } = asked;
    const below = channelId === undefined ? undefined : { parentId: channelId };
    checkLead(protocol, lead);
    const there = this.#thoseThere(members, by);
    await this.#withNew(async (begin) => {
      const making = { roomId: threadId, dir, channelId, by };
      for (const [at, member] of members.entries())
        if ("directive" in member) there[at] = await begin(member, { ...making, field: `members.${at}` });
      const first = this.#named(there.flatMap((id) => id ?? []));
      const leadName = lead === undefined ? null : memberIn(first, lead, { field: "lead", homes }).name;
      await creation.create({
        ...{ threadId, type: "room", dir, cols: DEFAULT_COLS, rows: DEFAULT_ROWS, createdBy: by },
        command: `${protocol}: ${first.map(({ name }) => `@${name}`).join(", ")}`,
        title: title ?? first.map(({ name }) => name).join(", "),
        home: home ?? below,
        room: { protocol, lead: leadName, maxTurns, maxUsd, turnSeconds, members: first },
      });
    });
  }

  /**
   * @param join writes down that the thread is a member; one that is made for it counts as made with that
   * @throws AppError as {@link create}
   */
  async add(
    wanted: NewMember,
    { roomId, dir, channelId, by }: Omit<Making, "field">,
    join: (memberId: ThreadId) => void,
  ): Promise<void> {
    if ("threadId" in wanted)
      return join(memberThread(this.#options, { field: "threadId", wanted: wanted.threadId, by }));
    await this.#withNew(async (begin) =>
      join(await begin(wanted, { roomId, dir, channelId, by, field: "member" })),
    );
  }

  /** Those of the list that are there already, looked at before any is made. */
  #thoseThere(members: readonly NewMember[], by: Principal): (ThreadId | undefined)[] {
    const ids = members.map((member, at) => {
      const field = `members.${at}.threadId`;
      return "threadId" in member
        ? memberThread(this.#options, { field, wanted: member.threadId, by })
        : undefined;
    });
    const twice = ids.findIndex((id, at) => id !== undefined && ids.indexOf(id) < at);
    if (twice >= 0)
      throw new AppError("invalid_request", `members.${twice}.threadId: ${ids[twice]} is in the list twice.`);
    return ids;
  }

  #named(ids: readonly ThreadId[]): NewRoomMember[] {
    const taken = new Set<string>();
    return ids.map((id) => {
      const isTaken = (name: string) => taken.has(name);
      const member = memberOf(this.#options, id, {
        heard: 0,
        baseUsd: this.#options.driver.costOf(id),
        isTaken,
      });
      taken.add(member.name);
      return member;
    });
  }

  /** Begins members, which are made with what the work writes down last, or not at all. */
  async #withNew(
    work: (
      begin: (member: Extract<NewMember, { directive: string }>, making: Making) => Promise<ThreadId>,
    ) => Promise<void>,
  ): Promise<void> {
    const { creation } = this.#options;
    const begun: CreateRequest[] = [];
    try {
      await work(async (member, making) => {
        const request = await memberRequest(this.#options, member, making);
        await creation.begin(request);
        begun.push(request);
        return request.threadId;
      });
    } catch (error) {
      for (const request of begun) await creation.giveUp(request);
      throw error;
    }
    for (const request of begun) await creation.finish(request);
  }
}

/** The channel of a room that is about to be made. */
function channelOfHome(home: NewRoom["home"]): DiscordId | undefined {
  return typeof home === "object" ? home.parentId : undefined;
}
