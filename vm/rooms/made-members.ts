/** Makes the members that a directive names: agents that speak with a tool, and wait for their first turn. */
import { createRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { type DiscordId, type ThreadId, threadIdSchema } from "../../shared/ids.ts";
import type { Principal } from "../../shared/principal.ts";
import type { NewMember } from "../../shared/rooms/api.ts";
import type { Directives } from "../directives/directives.ts";
import type { Store } from "../store/store.ts";
import type { Creation } from "../threads/creation.ts";

export interface MakingOptions {
  store: Store;
  creation: Pick<Creation, "create">;
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

/** @throws AppError `not_found` if there is no such directive, and as a creation */
export async function makeMember(
  { store, creation, directives }: MakingOptions,
  { directive, inputs }: Extract<NewMember, { directive: string }>,
  { roomId, dir, channelId, by, field }: Making,
): Promise<ThreadId> {
  const threadId = freeId(store, roomId);
  const asked = createRequestSchema.parse({
    ...{ threadId, type: "agent", dir, title: directive.replace(/^.*:/, ""), command: "-" },
    agent: { directive, voice: "message", ...(inputs && { inputs }) },
  });
  try {
    const request = await directives.applied({ ...asked, command: "" });
    if (request.agent?.mode === "single")
      throw new AppError("unsupported", `agent.directive: ${directive} takes one message alone.`);
    const home = channelId === undefined ? undefined : { parentId: channelId };
    await creation.create({ ...request, home, createdBy: by });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const message = error.message.replace(/^agent\.(?=directive|inputs)/, `${field}.`);
    throw new AppError(error.code, message, { cause: error });
  }
  return threadId;
}

/** `review-1`, or the next that no thread has. */
function freeId(store: Store, roomId: ThreadId): ThreadId {
  for (let number = 1; ; number++) {
    const threadId = threadIdSchema.parse(`${roomId.slice(0, MAX_STEM)}-${number}`);
    if (store.threads.find(threadId) === undefined) return threadId;
  }
}
