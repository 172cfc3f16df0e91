/** Tells a thread's browser what to do, once, also if sidecar or browser end in the middle. */
import type { DoorCall } from "../../shared/browser/state.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Store } from "../store/store.ts";
import { type BrowserAnswer, callDoor, connectToDoor } from "./door.ts";
import type { BrowserFolders } from "./folders.ts";

export interface OnceOptions {
  store: Pick<Store, "inputs">;
  folders: BrowserFolders;
}

/**
 * @param inputId what comes again under it is not done again; undefined: it is done each time
 * @throws AppError `invalid_request`, `not_found`, `unavailable` if nothing was done, `unknown_outcome` if nobody can tell
 */
export async function callOnce(
  { store: { inputs }, folders }: OnceOptions,
  threadId: ThreadId,
  call: Omit<DoorCall, "input">,
  inputId: string | undefined,
): Promise<BrowserAnswer> {
  const socket = await connectToDoor(folders, threadId);
  if (inputId === undefined) return callDoor(socket, call);
  const isRepeat = inputs.find(threadId, inputId) !== undefined;
  inputs.set(threadId, inputId, "sending");
  try {
    const answer = await callDoor(socket, { ...call, input: { id: inputId, isRepeat } });
    inputs.set(threadId, inputId, "sent");
    return answer;
  } catch (error) {
    const isUnknown = error instanceof AppError && error.code === "unknown_outcome";
    if (!isUnknown) inputs.remove(threadId, inputId); // nothing was done
    throw error;
  }
}
