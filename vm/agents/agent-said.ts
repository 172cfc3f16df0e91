/** Gives other agents what was said in an agent's thread. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Store } from "../store/store.ts";
import type { SaidFace, SaidPart } from "../threads/kinds/kind.ts";
import type { AgentFolders } from "./folders.ts";
import { readKept } from "./kept-transcript.ts";
import { saidIn } from "./said.ts";

export interface AgentSaidOptions {
  store: Pick<Store, "agents" | "rooms">;
  folders: Pick<AgentFolders, "of" | "madeBy">;
}

export class AgentSaid implements SaidFace {
  readonly #options: AgentSaidOptions;

  constructor(options: AgentSaidOptions) {
    this.#options = options;
  }

  /** Members of a room know each other; their own words are private all the same. */
  isOpenTo(threadId: ThreadId, readerId: ThreadId): boolean {
    const { rooms } = this.#options.store;
    const roomId = rooms.findRoomOf(threadId);
    return threadId !== readerId && roomId !== undefined && roomId === rooms.findRoomOf(readerId);
  }

  async read(threadId: ThreadId, since: number | undefined): Promise<SaidPart> {
    if (this.#options.folders.madeBy(threadId).voice !== undefined)
      throw new AppError(
        "unsupported",
        "That agent's words are its own: it says with its messages what others are to know.",
      );
    const readTranscript = async (id: ThreadId, range: { since: number; limit: number }) =>
      (await readKept(this.#options, id, range)).part;
    const { all: texts, readTo, isMore } = await saidIn({ readTranscript }, threadId, since);
    return { texts, readTo, isMore };
  }
}
