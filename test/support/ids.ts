/** Ids that a test makes up. */
import { named, type Thread } from "../../relay/sidecar/names.ts";
import type { Thread as OwnThread } from "../../shared/api.ts";
import { type DiscordId, knownDiscordId, knownThreadId, type ThreadId } from "../../shared/ids.ts";

export const aThreadId = (id: string): ThreadId => knownThreadId.parse(id);
export const aDiscordId = (id: string): DiscordId => knownDiscordId.parse(id);

/** A thread as the relay has it. */
export function asNamed(thread: OwnThread): Thread {
  const [same] = named([thread]);
  if (!same) throw new Error("named() lost a thread");
  return same;
}
