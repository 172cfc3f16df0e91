/**
 * Judges what an agent may with its tools: as the person may who began its thread; an agent that hears channels is nobody's,
 * and may what all may for whom it is at work.
 */
import { AppError } from "../../shared/errors.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { type Principal, parsePrincipal, threadPrincipal } from "../../shared/principal.ts";
import type { Right } from "../../shared/rights.ts";
import type { Agents } from "../agents/agents.ts";
import type { People } from "../callers/people.ts";
import type { Store } from "../store/store.ts";
import type { Homes } from "../threads/homes.ts";

/** An agent's family is never so deep. */
const MAX_DEPTH = 100;

export interface MayUseOptions {
  store: Pick<Store, "threads" | "spoken">;
  people: Pick<People, "judge">;
  agents: Pick<Agents, "foldNow">;
  homes: Pick<Homes, "channelOf">;
}

/**
 * Refuses what an agent may not.
 * @throws AppError `forbidden` in words for the model
 */
export type MayUse = (threadId: ThreadId, right: Right) => Promise<void>;

export function makeMayUse({ store, people, agents, homes }: MayUseOptions): MayUse {
  return async (threadId, right) => {
    const channelId = homes.channelOf(threadId);
    const mainId = findMainAbove(store, threadId);
    if (mainId === undefined) {
      const judge = () => people.judge(threadPrincipal(threadId), right, channelId);
      return inWords("the person who began this thread", judge);
    }
    const { voice } = await agents.foldNow(mainId);
    for (const { source, channelId: place } of voice?.askers ?? [])
      inWords("a person for whom you are at work", () =>
        people.judge(parsePrincipal(source), right, place ?? homes.channelOf(mainId)),
      );
  };
}

/** Whose a thread is that an agent spawned: its parent's person's; of an agent that hears channels, that agent's own. */
export function makerOfChild(
  { spoken }: Pick<Store, "spoken">,
  { threadId, createdBy }: { threadId: ThreadId; createdBy: Principal },
): Principal {
  return spoken.isMain(threadId) ? threadPrincipal(threadId) : createdBy;
}

/** The agent that hears channels and is this thread, or one whose family it is of. */
function findMainAbove(
  { threads, spoken }: Pick<Store, "threads" | "spoken">,
  threadId: ThreadId,
): ThreadId | undefined {
  let one: Principal | undefined = threadPrincipal(threadId);
  for (let depth = 0; one?.kind === "thread" && depth < MAX_DEPTH; depth++) {
    const id = knownThreadId.parse(one.threadId);
    if (spoken.isMain(id)) return id;
    one = threads.find(id)?.createdBy;
  }
  return undefined;
}

function inWords(who: string, judge: () => void): void {
  try {
    judge();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, `Refused to ${who}: ${error.message}`, { cause: error });
  }
}
