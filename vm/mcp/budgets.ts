/** A child's part of its parent's limits: set aside when it begins, settled when it has ended. */
import {
  addUse,
  type LimitsOfChild,
  limitsAtEnd,
  NO_USE,
  shareOf,
  type Use,
  useOfChildren,
} from "../../shared/agent/budget.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { LIMIT_NAMES } from "../../shared/agent/limit-schema.ts";
import { describeLimit, ownUseOf, usedOf } from "../../shared/agent/limits.ts";
import { isOpen, type Thread } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { job } from "../../shared/principal.ts";
import type { Agents } from "../agents/agents.ts";
import type { AgentFolders } from "../agents/folders.ts";
import type { Threads } from "../threads/threads.ts";

interface ShareOptions {
  threads: Threads;
  agents: Agents;
  folders: AgentFolders;
  now: () => number;
}

/**
 * What a new child may use.
 * @param children that are open: one of them may have been made without its parent's being told, by a kill in between
 * @throws AppError `unsupported` if its parent has not so much left
 */
export async function shareFor(
  options: ShareOptions,
  children: readonly Thread[],
  parentId: ThreadId,
  wanted: LimitsOfChild,
): Promise<LimitsOfChild> {
  const { agents, folders, now } = options;
  await noteKills(options, parentId);
  const fold = await agents.foldNow(parentId);
  const { known, open, endedUse } = agents.toldChildren(parentId);
  const untold = children.filter(({ threadId }) => !known.has(threadId));
  const set = [...open.values(), ...untold.map(({ threadId }) => folders.findConfig(threadId)?.agent.limits)];
  const own = ownUseOf(fold, now());
  const inAll = addUse(
    own,
    useOfChildren(
      set.map((limits) => ({ limits })),
      endedUse,
    ),
  );
  const share = shareOf(leftOf(fold, { ...own, ...inAll }), wanted);
  if ("limits" in share) return share.limits;
  const { refused, left } = share;
  throw new AppError(
    "unsupported",
    `limits.${refused}: this thread has ${describeLimit(refused, left)} left that no child has; end a child, or do the work yourself.`,
  );
}

function leftOf({ limits }: ThreadFold, used: ReturnType<typeof ownUseOf>): LimitsOfChild {
  const left: LimitsOfChild = {};
  for (const name of LIMIT_NAMES) {
    const limit = limits[name];
    if (!limit) continue;
    const rest = limit.allowed - used[name];
    left[name] = name === "spendUsd" ? rest : Math.floor(rest);
  }
  return left;
}

interface EndOptions {
  threads: Threads;
  agents: Agents;
  children: { parentOf(threadId: ThreadId): ThreadId | undefined };
}

/**
 * A child has come to its end: whoever waited is told once. What it has not used is its parent's again, so from then on
 * it may use nothing more before a person lets it.
 */
export async function noteEnd(
  { threads, agents, children }: EndOptions,
  waiterId: ThreadId,
  childId: ThreadId,
  stopReason: string,
): Promise<void> {
  const told = { type: "thread_ended" as const, threadId: childId, stopReason };
  // A descendant's use counts for its own parent.
  if (children.parentOf(childId) !== waiterId) return agents.noteChild(waiterId, told);
  if (!agents.toldChildren(waiterId).open.has(childId)) return;
  const fold = await agents.foldNow(childId);
  const used = useOf(fold);
  const limits = limitsAtEnd(allowedOf(fold), used);
  if (limits && isOpen(threads.get(childId).status))
    await agents.control(childId, { control: "limit", limits }, job("budget"));
  await agents.noteChild(waiterId, { ...told, used });
}

/** Somebody has ended a thread, which nobody may wait for any more: its parent is told. */
export async function noteKill(options: EndOptions, childId: ThreadId): Promise<void> {
  const { threads, children } = options;
  const parentId = children.parentOf(childId);
  if (parentId === undefined) return;
  try {
    if (isOpen(threads.getStored(parentId).status)) await noteEnd(options, parentId, childId, "killed");
  } catch (error) {
    if (!(error instanceof AppError)) throw error; // its parent is over as well; else its next child makes up for it
  }
}

/** As {@link noteKill}, of children whose end was cut off by a kill of the sidecar. */
async function noteKills({ threads, agents, folders }: ShareOptions, parentId: ThreadId): Promise<void> {
  const isOver = (childId: ThreadId) => folders.exists(childId) && !isOpen(threads.getStored(childId).status);
  for (const childId of [...agents.toldChildren(parentId).open.keys()].filter(isOver))
    await noteKill({ threads, agents, children: folders }, childId);
}

/** No turn of it runs, so no time passes: its clock tells all. */
function useOf(fold: ThreadFold): Use {
  return addUse(NO_USE, usedOf(fold, 0));
}

function allowedOf({ limits }: ThreadFold): LimitsOfChild {
  return Object.fromEntries(Object.entries(limits).map(([name, { allowed }]) => [name, allowed]));
}
