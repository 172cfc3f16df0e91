/** Reads of a thread's transcript as much as is stored: it is on the disk for good. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { AgentRow } from "../store/agents.ts";
import type { Store } from "../store/store.ts";
import type { AgentFolders } from "./folders.ts";
import { readTranscript } from "./transcript.ts";

export interface Kept {
  store: Pick<Store, "agents">;
  folders: Pick<AgentFolders, "of">;
}

/** Whole lines, with their place in bytes. */
export interface KeptPart {
  lines: string;
  start: number;
  offset: number;
  more: boolean;
  /** The end of all that is stored. */
  end: number;
}

/**
 * @param since in bytes
 * @param limit in bytes
 * @throws AppError `not_found`, `range` if it is not so long
 */
export async function readKept(
  { store, folders }: Kept,
  threadId: ThreadId,
  { since, limit }: { since: number; limit: number },
): Promise<{ agent: AgentRow; folder: string; part: KeptPart }> {
  const agent = store.agents.find(threadId);
  if (!agent) throw new AppError("not_found", `There is no agent thread ${JSON.stringify(threadId)}.`);
  const end = agent.transcriptBytes;
  if (since > end) throw new AppError("range", `since: ${since} lies beyond the transcript's end at ${end}.`);
  const folder = folders.of(threadId);
  const { lines, offset } = await readTranscript(folder, { since, end, limit });
  return { agent, folder, part: { lines, start: since, offset, more: offset < end, end } };
}
