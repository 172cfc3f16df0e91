/** Threads that agents spawn: who is whose child, and what a child may not be. */

import { createHash } from "node:crypto";
import type { LimitsOfChild } from "../../shared/agent/budget.ts";
import type { AgentConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { causesNow } from "../../shared/agent/fold-causes.ts";
import { REVIEW_OUTPUT, REVIEW_THREAD } from "../../shared/agent/gate-review.ts";
import { byPerson } from "../../shared/agent/gates.ts";
import { DEFAULT_COLS, DEFAULT_ROWS, isOpen, type Thread } from "../../shared/api.ts";
import type { InputValues } from "../../shared/directives/inputs.ts";
import { AppError } from "../../shared/errors.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import { type Principal, threadPrincipal } from "../../shared/principal.ts";
import type { Agents } from "../agents/agents.ts";
import { callIdOf } from "../agents/call-id.ts";
import type { AgentFolders } from "../agents/folders.ts";
import type { Marks } from "../agents/marks.ts";
import type { Worktrees } from "../agents/worktrees.ts";
import type { Directives } from "../directives/directives.ts";
import { tighterLimits } from "../directives/merge.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { Creation } from "../threads/creation.ts";
import type { Homes } from "../threads/homes.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";
import type { Threads } from "../threads/threads.ts";
import type { UserSpace } from "../threads/user-space.ts";
import { shareFor } from "./budgets.ts";
import { isWider, modeOfChild } from "./child-mode.ts";
import { isBelow, placeOfChild } from "./child-place.ts";
import { inheritedFrom } from "./inherited.ts";
import { makerOfChild } from "./may-use.ts";
import { refuseTooMany } from "./spawn-rate.ts";
import { hasWiderTools } from "./wider-tools.ts";

const MAX_DEPTH = 3;
const MAX_CHILDREN = 8;

export interface ChildrenOptions {
  store: Store;
  threads: Threads;
  homes: Homes;
  folders: AgentFolders;
  worktrees: Worktrees;
  userSpace: UserSpace;
  creation: Creation;
  agents: Agents;
  marks: Pick<Marks, "findSpread">;
  directives: Directives;
  /** A real path. */
  reposDir: string;
  now: () => number;
  kill: (threadId: ThreadId, by: Principal) => Promise<unknown>;
}

export interface SpawnRequest {
  /** The engine's id of the call: the same spawns one child. Undefined if the engine names no calls. */
  callId: string | undefined;
  prompt: string;
  title?: string | undefined;
  dir?: string | undefined;
  permissionMode?: string | undefined;
  limits?: LimitsOfChild | undefined;
  /** Not set: as its directive says, else to wait. */
  mode?: "await" | "async" | undefined;
  /** The child is made by this directive. */
  directive?: string | undefined;
  inputs?: InputValues | undefined;
}

/** A reviewer and what it decides on. */
export interface ReviewRequest {
  /** {@link REVIEW_THREAD} is its beginning. */
  threadId: ThreadId;
  title: string;
  prompt: string;
  directive: string;
  /** At most. */
  limits: LimitsOfChild;
}

export interface Spawned {
  threadId: ThreadId;
  mode: "await" | "async";
}

export class Children {
  readonly #options: ChildrenOptions;
  /** One after the other of each family: what one is given, the next does not find. */
  readonly #spawning = new KeyedQueue();

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** Open children of a thread, the oldest first. */
  list(parentId: ThreadId): Thread[] {
    const { threads } = this.#options;
    return threads.list("open").filter(({ threadId }) => this.parentOf(threadId) === parentId);
  }

  /** @throws AppError `not_found` if it is no descendant: of others the caller learns nothing. */
  checkDescendant(ancestorId: ThreadId, threadId: ThreadId): void {
    for (let id = this.parentOf(threadId); id !== undefined; id = this.parentOf(id)) {
      if (id === ancestorId) return;
    }
    throw new AppError("not_found", `You have no child ${JSON.stringify(threadId)}.`);
  }

  /** @throws AppError `not_found` if they do not descend from one thread, or are the same: of others nothing is told. */
  checkFamily(threadId: ThreadId, otherId: ThreadId): void {
    if (threadId !== otherId && this.#rootOf(threadId) === this.#rootOf(otherId)) return;
    throw new AppError("not_found", `There is no thread ${JSON.stringify(otherId)} that you know.`);
  }

  /**
   * Whether it works in a wider mode, with wider tools, by rules that the other one was not granted, or in a directory
   * that is not the other one's or below it.
   */
  async mayDoMore(threadId: ThreadId, otherId: ThreadId): Promise<boolean> {
    const { threads, agents } = this.#options;
    const [own, others] = [await agents.foldNow(threadId), await agents.foldNow(otherId)];
    if (own.grantedRules.some((rule) => !others.grantedRules.includes(rule))) return true;
    const { folders } = this.#options;
    // Modes of two engines can't be compared.
    if (folders.engineOf(threadId) !== folders.engineOf(otherId)) return true;
    const [tools, otherTools] = [threadId, otherId].map((id) => folders.findConfig(id)?.agent ?? {});
    if (hasWiderTools(tools ?? {}, otherTools ?? {})) return true;
    if (isWider(this.#options, threadId, otherId)) return true;
    return !isBelow(threads.getStored(threadId).path, threads.getStored(otherId).path);
  }

  /** @throws AppError `not_found` if it is no child of its own. */
  checkChild(parentId: ThreadId, threadId: ThreadId): void {
    if (this.parentOf(threadId) === parentId) return;
    throw new AppError("not_found", `You have no child ${JSON.stringify(threadId)}.`);
  }

  /**
   * Makes a child, or finds the one that this call has made. It has its parent's rights or fewer.
   * @returns its id, and whether its parent waits for it
   * @throws AppError in words for the model
   */
  spawn(parentId: ThreadId, request: SpawnRequest): Promise<Spawned> {
    return this.#spawning.run(this.#rootOf(parentId), () => this.#spawn(parentId, request));
  }

  async #spawn(parentId: ThreadId, request: SpawnRequest): Promise<Spawned> {
    const { store, threads, folders, agents } = this.#options;
    const fold = await agents.foldNow(parentId);
    const { callId: named, ...input } = request;
    const callId = callIdOf(named, fold, "spawn_thread", input);
    const hash = createHash("sha256").update(`${parentId} ${callId}`).digest("hex");
    const threadId = knownThreadId.parse(`child-${hash.slice(0, 24)}`);
    const parent = threads.getStored(parentId);
    const title = request.title ?? request.prompt.slice(0, 60);
    const known = fold.children.find((child) => child.threadId === threadId);
    let mode = known?.mode ?? request.mode ?? "await";
    if (!store.threads.find(threadId)) mode = await this.#make(parent, threadId, title, request);
    const { limits = {} } = folders.findConfig(threadId)?.agent ?? {};
    const told: EventBody<"thread_spawned"> = {
      type: "thread_spawned",
      threadId,
      mode,
      title,
      ...(named !== undefined && { toolCallId: named }),
      ...(Object.keys(limits).length > 0 && { limits }),
    };
    await agents.noteChild(parentId, told).catch(async (error: unknown) => {
      // Its parent was killed while the child was made, and nobody knew of it.
      if (!isOpen(threads.getStored(parentId).status))
        await this.#options.kill(threadId, threadPrincipal(parentId));
      throw error;
    });
    return { threadId, mode };
  }

  /** @returns whether its parent is to wait for it */
  async #make(
    parent: StoredThread,
    threadId: ThreadId,
    title: string,
    request: SpawnRequest,
  ): Promise<Spawned["mode"]> {
    const { threadId: parentId } = parent;
    const { homes } = this.#options;
    await this.#refuseAgain(parentId, request.prompt);
    this.#checkRoom(parentId);
    const limits = await this.#shareOf(parentId, request.limits ?? {});
    const { path, ...place } = placeOfChild(this.#options, parent, request.dir);
    const mode = modeOfChild(this.#options, parentId, request.permissionMode);
    const agent: AgentConfig = { ...this.#inherited(parentId), ...mode, limits };
    const { spawn, ...made } = await this.#options.directives.appliedToChild({ ...request, agent, path });
    const home = homes.isWanted(parentId) && { home: "discord" as const };
    await this.#create(parent, { threadId, title, ...place, ...made, ...home });
    return request.mode ?? (spawn === "async" ? "async" : "await");
  }

  /**
   * Makes the reviewer of a gate, unless it is there. It has its parent's rights or fewer, and decides with its result.
   * @throws AppError in words for people
   */
  review(parentId: ThreadId, { threadId, title, prompt, directive, limits }: ReviewRequest): Promise<void> {
    return this.#spawning.run(this.#rootOf(parentId), async () => {
      const { store, threads, agents, directives } = this.#options;
      const parent = threads.getStored(parentId);
      if (!store.threads.find(threadId)) {
        const bounds = tighterLimits(await this.#shareOf(parentId, {}), limits);
        const { path, ...place } = placeOfChild(this.#options, parent, undefined);
        const agent: AgentConfig = {
          ...this.#inherited(parentId),
          ...modeOfChild(this.#options, parentId, undefined),
          ...{ limits: bounds, mode: "single", outputSchema: REVIEW_OUTPUT },
        };
        const { spawn: _, ...made } = await directives.appliedToChild({ agent, path, prompt, directive });
        const gates = made.agent.gates?.map(byPerson);
        const reviewer = { ...made.agent, ...(gates && { gates }) };
        await this.#create(parent, { threadId, title, ...place, ...made, agent: reviewer, plain: true });
      }
      const { limits: given = {} } = this.#options.folders.findConfig(threadId)?.agent ?? {};
      await agents.noteChild(parentId, {
        type: "thread_spawned",
        threadId,
        mode: "async",
        title,
        limits: given,
      });
    });
  }

  #shareOf(parentId: ThreadId, wanted: LimitsOfChild): Promise<LimitsOfChild> {
    return shareFor(this.#options, this.list(parentId), parentId, wanted);
  }

  /** What every child has of its parent's configuration. */
  #inherited(parentId: ThreadId): AgentConfig {
    const own = this.#options.folders.findConfig(parentId)?.agent;
    if (!own) throw new AppError("unavailable", "This thread's own configuration can't be read.");
    return inheritedFrom(parentId, own);
  }

  async #create(
    parent: StoredThread,
    made: Omit<CreateRequest, "type" | "createdBy" | "cols" | "rows">,
  ): Promise<void> {
    const { creation, agents, marks, store } = this.#options;
    const parentId = parent.threadId;
    const outside = await marks.findSpread(parentId);
    await creation.create({
      ...{ createdBy: makerOfChild(store, parent), type: "agent", cols: DEFAULT_COLS, rows: DEFAULT_ROWS },
      ...made,
      budget: store.budgets.find(parentId)?.budget,
      // A child that is made and writes back is a message too.
      hops: ((await agents.foldNow(parentId)).hops ?? 0) + 1,
      causes: causesNow(await agents.foldNow(parentId)),
      // Its prompt is its parent's words.
      ...(outside !== undefined && { outside: { marks: outside } }),
    });
  }

  /** @returns the ids of its open children and of theirs, a parent before its children */
  descendantsOf(parentId: ThreadId): ThreadId[] {
    const open = this.#options.store.threads.list("open").filter(({ isMade }) => isMade);
    const below = (id: ThreadId): ThreadId[] => {
      const own = open.filter(({ threadId }) => this.parentOf(threadId) === id);
      return own.flatMap(({ threadId }) => [threadId, ...below(threadId)]);
    };
    return below(parentId);
  }

  /** The thread that spawned it; undefined if none did. */
  parentOf(threadId: ThreadId): ThreadId | undefined {
    return this.#options.folders.parentOf(threadId);
  }

  /** All that descend from the same thread as this one, ended ones too; itself among them. */
  familyOf(threadId: ThreadId): ThreadId[] {
    const root = this.#rootOf(threadId);
    const all = this.#options.store.threads.list("all").map((thread) => thread.threadId);
    return all.filter((one) => this.#rootOf(one) === root);
  }

  #rootOf(threadId: ThreadId): ThreadId {
    const parentId = this.parentOf(threadId);
    return parentId === undefined ? threadId : this.#rootOf(parentId);
  }

  /**
   * A call that waits for its child is cut off if the sidecar or the engine is killed, and the model may make it again:
   * the child is there, and goes on.
   */
  async #refuseAgain(parentId: ThreadId, prompt: string): Promise<void> {
    const { agents, store } = this.#options;
    const { children, toolCalls } = await agents.foldNow(parentId);
    const { open } = agents.toldChildren(parentId);
    const isRunning = (callId: string | undefined) =>
      toolCalls.some(({ toolCallId }) => toolCallId === callId);
    const cutOff = children
      .filter(
        ({ threadId, mode, toolCallId }) => mode === "await" && open.has(threadId) && !isRunning(toolCallId),
      )
      .find(({ threadId }) => store.threads.find(threadId)?.command === prompt);
    if (!cutOff) return;
    throw new AppError(
      "thread_exists",
      `${cutOff.threadId} does this: a call of yours that was cut off has spawned it. Wait for it with wait_thread.`,
    );
  }

  #checkRoom(parentId: ThreadId): void {
    if (isReviewer(parentId))
      throw new AppError("unsupported", "A reviewer spawns no threads: decide by yourself.");
    let depth = 1;
    for (let id = this.parentOf(parentId); id !== undefined; id = this.parentOf(id)) depth++;
    if (depth > MAX_DEPTH)
      throw new AppError("unsupported", `Threads may be ${MAX_DEPTH} deep at most; do the work yourself.`);
    if (this.list(parentId).length >= MAX_CHILDREN) {
      throw new AppError(
        "unsupported",
        `A thread may have ${MAX_CHILDREN} open children; end one with kill_thread first.`,
      );
    }
    const { store, now } = this.#options;
    const root = this.#rootOf(parentId);
    const family = store.threads.list("all").flatMap(({ threadId, createdAt }) => {
      const parent = this.parentOf(threadId);
      const isChild = parent !== undefined && !isReviewer(threadId);
      return isChild && this.#rootOf(threadId) === root ? [{ parentId: parent, createdAt }] : [];
    });
    refuseTooMany(family, parentId, now());
  }
}

const isReviewer = (threadId: ThreadId) => threadId.startsWith(REVIEW_THREAD);
