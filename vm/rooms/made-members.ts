/** The members that a directive names: agents that speak with a tool, and wait for their first turn. */
import { createRequestSchema, isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { type DiscordId, type ThreadId, threadIdSchema } from "../../shared/ids.ts";
import type { Principal } from "../../shared/principal.ts";
import type { NewMember } from "../../shared/rooms/api.ts";
import type { Directives } from "../directives/directives.ts";
import type { NewRoomMember } from "../store/rooms.ts";
import type { Store } from "../store/store.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";

export interface MakingOptions {
  store: Store;
  directives: Pick<Directives, "applied">;
}

export interface Making {
  roomId: ThreadId;
  /** Below `REPOS_DIR`. */
  dir: string;
  /** The room's channel: the member's own Discord thread is there too. */
  channelId: DiscordId | undefined;
  by: Principal;
  /** The field of the request that an error names. */
  field: string;
}

/** The most characters of a room's id that stand in a member's; a thread's id has 64. */
const MAX_STEM = 56;

/** @throws AppError `not_found` if there is no such directive, and as {@link Directives.applied} */
export async function memberRequest(
  { store, directives }: MakingOptions,
  { directive, inputs }: Extract<NewMember, { directive: string }>,
  { roomId, dir, channelId, by, field }: Making,
): Promise<CreateRequest> {
  const asked = createRequestSchema.parse({
    ...{ threadId: freeId(store, roomId), type: "agent", dir, title: directive.replace(/^.*:/, "") },
    command: "-",
    agent: { directive, voice: "message", ...(inputs && { inputs }) },
  });
  try {
    const request = await directives.applied({ ...asked, command: "" });
    if (request.agent?.mode === "single")
      throw new AppError("unsupported", `agent.directive: ${directive} takes one message alone.`);
    return { ...request, home: channelId === undefined ? undefined : { parentId: channelId }, createdBy: by };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const message = error.message.replace(/^agent\.(?=directive|inputs)/, `${field}.`);
    throw new AppError(error.code, message, { cause: error });
  }
}

/** From here on those that were begun for a room are threads like others: call it in the transaction that lets them in. */
export function makeMembers({ threads }: Pick<Store, "threads">, members: readonly NewRoomMember[]): void {
  for (const { memberId } of members) {
    const thread = threads.find(memberId);
    if (thread && !thread.isMade)
      threads.update(memberId, { isMade: true, ...(isOpen(thread.status) && { status: "idle" }) });
  }
}

/** `review-1`, or the next that no thread has. */
function freeId(store: Store, roomId: ThreadId): ThreadId {
  for (let number = 1; ; number++) {
    const threadId = threadIdSchema.parse(`${roomId.slice(0, MAX_STEM)}-${number}`);
    if (store.threads.find(threadId) === undefined) return threadId;
  }
}
