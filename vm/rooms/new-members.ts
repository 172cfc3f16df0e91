/** Who becomes a member of a room, and what it is called there. */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { Principal } from "../../shared/principal.ts";
import type { AgentFolders } from "../agents/folders.ts";
import type { People } from "../callers/people.ts";
import { handleStem } from "../store/handles.ts";
import type { NewRoomMember } from "../store/rooms.ts";
import type { Store } from "../store/store.ts";
import type { Homes } from "../threads/homes.ts";

export interface MembersOptions {
  store: Store;
  folders: Pick<AgentFolders, "exists" | "findConfig">;
  homes: Pick<Homes, "channelOf" | "find">;
  people: Pick<People, "judge">;
}

/** How people are called who do not write in Discord: no member is. */
const PEOPLE: ReadonlySet<string> = new Set(["owner", "console"]);
/** The most characters of a directive's name or a title that become a member's name. */
const MAX_NAME = 40;

/**
 * @param field of the request, for the error
 * @param wanted an agent thread, by any name of it
 * @throws AppError `not_found`, `thread_ended`, `unsupported`, `forbidden` if who asks may not write to it
 */
export function memberThread(
  { store, folders, homes, people }: MembersOptions,
  { field, wanted, by }: { field: string; wanted: string; by: Principal },
): ThreadId {
  const threadId = homes.find(wanted);
  const thread = threadId === undefined ? undefined : store.threads.find(threadId);
  if (threadId === undefined || !thread?.isMade)
    throw new AppError("not_found", `${field}: there is no thread ${JSON.stringify(wanted)}.`);
  if (!kindOf(thread).hasTurns)
    throw new AppError("unsupported", `${field}: ${threadId} is ${kindOf(thread).name}; members are agents.`);
  people.judge(by, "type", homes.channelOf(threadId));
  if (!isOpen(thread.status) || !folders.exists(threadId))
    throw new AppError("thread_ended", `${field}: ${threadId} has ended.`);
  const { voice, mainAgent, mode } = folders.findConfig(threadId)?.agent ?? {};
  if (voice !== "message")
    throw new AppError(
      "unsupported",
      `${field}: ${threadId} has no agent.voice "message", so it could not say in the room what the others are to hear.`,
    );
  if (mainAgent !== undefined)
    throw new AppError("unsupported", `${field}: ${threadId} hears a channel, and can be in no room.`);
  if (mode === "single") throw new AppError("unsupported", `${field}: ${threadId} takes one message alone.`);
  const other = store.rooms.findRoomOf(threadId);
  if (other !== undefined)
    throw new AppError("unsupported", `${field}: ${threadId} is in the room ${other} already.`);
  return threadId;
}

/**
 * @param heard up to which line of the room it is told nothing
 * @param isTaken whether somebody in the room is, or was, called so
 */
export function memberOf(
  { store, folders }: Pick<MembersOptions, "store" | "folders">,
  threadId: ThreadId,
  { heard, baseUsd, isTaken }: { heard: number; baseUsd: number; isTaken: (name: string) => boolean },
): NewRoomMember {
  const { directive } = folders.findConfig(threadId)?.agent ?? {};
  const title = store.threads.find(threadId)?.title ?? "";
  const stem =
    handleStem((directive?.name ?? (title === "" ? threadId : title)).slice(0, MAX_NAME)) || "agent";
  let name = stem;
  for (let number = 2; PEOPLE.has(name) || isTaken(name); number++) name = `${stem}-${number}`;
  const number = store.agents.find(threadId)?.number ?? null;
  return { name, memberId: threadId, number, directive: directive?.name ?? null, heard, baseUsd };
}
