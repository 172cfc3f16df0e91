/** Threads that begin with what another one knows. */

import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import type { WantedPoint } from "../../shared/agent/branch-point.ts";
import { type AgentConfig, agentConfigSchema, type ThreadConfig } from "../../shared/agent/config.ts";
import { ENGINES } from "../../shared/agent/engines/engines.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { DEFAULT_COLS, DEFAULT_ROWS, isOpen } from "../../shared/api.ts";
import type { BranchReply, BranchRequest } from "../../shared/branch-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Principal } from "../../shared/principal.ts";
import { USER_SPACE } from "../../shared/user-space.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { Creation } from "../threads/creation.ts";
import { resolveDirectory } from "../threads/directory.ts";
import type { CreateRequest, NewWorkspace, Origin } from "../threads/kinds/kind.ts";
import type { Threads } from "../threads/threads.ts";
import type { UserSpace } from "../threads/user-space.ts";
import type { AgentThreads } from "./agent-threads.ts";
import { findTree, hasTree, readFilesTurns, stateAt } from "./branch-files.ts";
import type { AgentFolders } from "./folders.ts";
import type { Origins, Prepared } from "./origin.ts";
import { spreadFrom } from "./outside.ts";
import { canDo } from "./support.ts";
import type { Worktrees } from "./worktrees.ts";

export interface BranchesOptions {
  store: Store;
  threads: Threads;
  creation: Creation;
  folders: AgentFolders;
  agents: AgentThreads;
  origins: Origins;
  worktrees: Worktrees;
  userSpace: UserSpace;
  threadEnv: Record<string, string>;
  /** A real path. */
  reposDir: string;
  queue: KeyedQueue;
}

export class Branches {
  readonly #options: BranchesOptions;

  constructor(options: BranchesOptions) {
    this.#options = options;
  }

  /**
   * Makes a thread that goes on from a point of another one's conversation. Both go on then, unless the parent is to
   * be locked. Nothing of it is seen before all of it is on the disk.
   * @throws AppError `not_found`, `thread_ended`, and what a creation is refused with
   */
  async branch(parentId: ThreadId, request: BranchRequest, createdBy: Principal): Promise<BranchReply> {
    const { store, threads, queue } = this.#options;
    const { threadId, text = "", plain, lockParent } = request;
    let { seq, messageId }: WantedPoint = request;
    const parent = threads.getStored(parentId);
    this.#refuseTaken(threadId);
    const prepared = await queue.run(parentId, async () => {
      this.#checkOpen(threads.getStored(parentId));
      if (request.beforeOutside) seq = this.#lastBeforeOutside(parentId);
      return this.#prepare(parentId, { seq, messageId });
    });
    const { point } = prepared;
    const isNow = seq === undefined && messageId === undefined;
    await this.#create(prepared, async () => {
      const workspace = request.files
        ? await this.#filesAt(parent, point, isNow)
        : this.#sameWorkspace(parentId, parent.dir);
      const title = request.title ?? (text === "" ? `↳ ${threads.get(parentId).title}` : undefined);
      return {
        threadId,
        type: "agent",
        dir: parent.dir,
        command: text,
        plain,
        home: request.home,
        createdBy,
        budget: store.budgets.find(parentId)?.budget,
        cols: DEFAULT_COLS,
        rows: DEFAULT_ROWS,
        ...(title !== undefined && { title }),
        agent: {
          ...this.#configOf(parentId, prepared),
          ...definedOf(request.agent),
          ...(request.files && { workspace: "worktree" as const }),
          originThreadId: point.threadId,
        },
        origin: { ...originOf(prepared, point.fork), ...(lockParent && { locks: parentId }) },
        ...(workspace && { workspace }),
        ...this.#outsideOf(parentId, prepared),
      };
    });
    // Those who look at the parent are told.
    if (lockParent) await queue.run(parentId, async () => store.threads.update(parentId, {}));
    return { created: true, origin: { threadId: point.threadId, seq: point.seq } };
  }

  /**
   * Makes a thread that knows the conversation of the one that its configuration names, which may have ended.
   * @throws AppError `not_found`, and what a creation is refused with
   */
  async createKnowing(request: CreateRequest): Promise<{ tmuxSession: string }> {
    const { creation, threads, store, queue } = this.#options;
    const known = request.agent?.originThreadId;
    if (known !== undefined && !store.agents.find(known))
      throw new AppError(
        "not_found",
        `agent.originThreadId: there is no agent thread ${JSON.stringify(known)}.`,
      );
    if (!request.agent || known === undefined || request.dryRun) {
      const workspace = await this.#workspaceOf(request);
      return creation.create({ ...request, ...(workspace && { workspace }) });
    }
    this.#refuseTaken(request.threadId);
    const prepared = await queue.run(known, async () => {
      threads.getStored(known);
      return this.#prepare(known, {});
    });
    const { agent: asked } = request;
    return this.#create(prepared, async () => {
      const agent = withChoices(asked, this.#configOf(known, prepared));
      const workspace = (await this.#workspaceOf(request)) ?? this.#sameWorkspace(known, request.dir);
      const origin = originOf(prepared, undefined);
      const outside = this.#outsideOf(known, prepared);
      return { ...request, agent, origin, ...outside, ...(workspace && { workspace }) };
    });
  }

  /** A branch has read all that its parent had read by then, text from outside too. */
  #outsideOf(parentId: ThreadId, { point }: Prepared): Pick<CreateRequest, "outside"> {
    const { store } = this.#options;
    const mark = store.agents.find(point.threadId)?.fold.marked ?? store.agents.find(parentId)?.fold.marked;
    const isBefore = mark && point.threadId === parentId && point.seq < mark.seq;
    return mark && !isBefore ? { outside: { marks: spreadFrom(`thread ${parentId}`, mark) } } : {};
  }

  /** @throws AppError `unsupported` if it has read none, or nothing was said before */
  #lastBeforeOutside(threadId: ThreadId): number {
    const mark = this.#options.store.agents.find(threadId)?.fold.marked;
    if (!mark) throw new AppError("unsupported", "beforeOutside: this thread has read no text from outside.");
    if (mark.seq > 1) return mark.seq - 1;
    throw new AppError(
      "unsupported",
      "beforeOutside: nothing was said before text from outside got in; begin a new thread.",
    );
  }

  /** A worktree of its own, if it is asked for. @throws AppError */
  async #workspaceOf({ agent, dir }: CreateRequest): Promise<NewWorkspace | undefined> {
    if (agent?.workspace !== "worktree") return undefined;
    const { reposDir, worktrees, userSpace } = this.#options;
    const directory = await resolveDirectory(reposDir, dir, undefined, userSpace.root);
    return worktrees.plan(directory.path, directory.dir);
  }

  /** A worktree of its own, with the files from a point of the parent's conversation. @throws AppError */
  async #filesAt(
    { threadId, path, dir }: StoredThread,
    point: Prepared["point"],
    isNow: boolean,
  ): Promise<NewWorkspace> {
    const { folders, worktrees } = this.#options;
    const { worktree, dir: own = path, origin } = folders.findConfig(threadId) ?? {};
    const isOwn = point.threadId === threadId;
    const isOrigin = point.threadId === origin?.threadId && point.seq === origin.seq;
    const seq = isNow && isOwn ? Number.MAX_SAFE_INTEGER : point.seq;
    const first = isOrigin ? await this.#firstFiles(worktree) : undefined;
    const files = first ?? (await this.#keptFiles(point.threadId, seq));
    if (!files)
      throw new AppError(
        "unsupported",
        "files: no state of the files is kept from then; the newest 50 turns that changed files have one.",
      );
    if (!worktree || existsSync(join(worktree.path, ".git")))
      return { ...(await worktrees.plan(own, dir)), ...files };
    // Nobody has written to it yet: it is still to be made.
    const { root, left } = worktree;
    const below = relative(worktree.path, own);
    return { kind: "new", root, below, ...(left !== undefined && { left }), ...files };
  }

  /** What a thread's turns and undos have kept; if there are none, what a branch with files began with. */
  async #keptFiles(threadId: ThreadId, seq: number): Promise<Files | undefined> {
    const { folders, store, threadEnv } = this.#options;
    const config = folders.exists(threadId) ? folders.findConfig(threadId) : undefined;
    if (!config) return undefined;
    const end = store.agents.find(threadId)?.transcriptBytes ?? 0;
    const turns = await readFilesTurns(threadPath(folders.of(threadId), "transcript"), end);
    const state = stateAt(turns, seq);
    if (state) {
      const tree = await findTree({ threadId, path: config.dir, env: threadEnv }, state);
      return tree === undefined ? undefined : { tree, isMidTurn: state.isMidTurn };
    }
    const first = await this.#firstFiles(config.worktree);
    return first && { ...first, isMidTurn: first.isMidTurn || turns.length > 0 };
  }

  async #firstFiles(worktree: ThreadConfig["worktree"]): Promise<Files | undefined> {
    if (worktree?.tree === undefined) return undefined;
    const { tree, root, path, isMidTurn = false } = worktree;
    for (const place of [root, path])
      if (await hasTree(place, this.#options.threadEnv, tree)) return { tree, isMidTurn };
    return undefined;
  }

  /**
   * The worktree that another thread works in, or its directory in user space if that is asked for: if it has one that is
   * still there.
   */
  #sameWorkspace(threadId: ThreadId, wanted: string): NewWorkspace | undefined {
    const { folders, threads, worktrees, userSpace } = this.#options;
    const dir = folders.findConfig(threadId)?.dir;
    const holder = wanted === USER_SPACE ? userSpace : worktrees;
    if (dir === undefined || !holder.holds(dir) || !existsSync(dir)) return undefined;
    return { kind: "there", path: threads.getStored(threadId).path, dir };
  }

  /** What was prepared goes if no thread has taken it, also if there can be no request. */
  async #create(
    prepared: Prepared,
    makeRequest: () => Promise<CreateRequest>,
  ): Promise<{ tmuxSession: string }> {
    try {
      return await this.#options.creation.create(await makeRequest());
    } finally {
      this.#options.origins.discard(prepared);
    }
  }

  #prepare(threadId: ThreadId, wanted: WantedPoint): Promise<Prepared> {
    const { folders, origins, store } = this.#options;
    if (!folders.exists(threadId))
      throw new AppError(
        "not_found",
        `The folder of thread ${threadId} is gone, and its conversation with it.`,
      );
    // Only what the disk has for good.
    const { transcriptBytes: end = 0, fold } = store.agents.find(threadId) ?? {};
    if (fold && wanted.seq !== undefined && wanted.seq > fold.seq) {
      const words = `seq: the conversation of thread ${threadId} has ${fold.seq} events, and none with the number ${wanted.seq}.`;
      throw new AppError("not_found", words);
    }
    return origins.prepare({ threadId, folder: folders.of(threadId), end }, wanted);
  }

  /**
   * As the parent was made, with what people had chosen by then. A branch spends for itself, and of a child it is no
   * child of the agent that spawned that one: a person made it. It hears no channel, so its words are its voice.
   */
  #configOf(threadId: ThreadId, { point }: Prepared): AgentConfig {
    const { folders } = this.#options;
    const {
      parentThreadId: _,
      voice: __,
      mainAgent: ___,
      ...agent
    } = folders.findConfig(threadId)?.agent ?? agentConfigSchema.parse({});
    const { modeId, model } = point.chosen;
    const { modes } = ENGINES[agent.engine].capabilities;
    const mayTakeMode = modeId !== modes?.bypass || agent.permissionMode === modeId;
    return {
      ...agent,
      ...(modeId !== undefined && mayTakeMode && { permissionMode: modeId }),
      ...(model !== undefined && { model }),
    };
  }

  #checkOpen(thread: StoredThread): void {
    const { threadId, status } = thread;
    if (!kindOf(thread).hasTurns) throw new AppError("not_found", `Thread ${threadId} is no agent thread.`);
    if (isOpen(status)) return;
    throw new AppError(
      "thread_ended",
      `Thread ${threadId} was killed, so it can't be branched; a new thread can be made that knows it (agent.originThreadId).`,
    );
  }

  /** Before anything of it is made; the creation looks once more. */
  #refuseTaken(threadId: ThreadId): void {
    const found = this.#options.store.threads.find(threadId);
    if (found && isOpen(found.status))
      throw new AppError("thread_exists", `An open thread has the id ${threadId} already.`);
  }
}

type AgentRequest = NonNullable<CreateRequest["agent"]>;
type Files = Required<Pick<Extract<NewWorkspace, { kind: "new" }>, "tree" | "isMidTurn">>;

/** What the request leaves open is as in the thread that is known, unless another engine can't do it. */
function withChoices(asked: AgentRequest, known: AgentConfig): AgentRequest {
  const { engine, program, args, model, permissionMode, tools, disallowedTools } = known;
  const { systemPrompt, directive, outputSchema, limits, params, needs } = known;
  const hasLimits = Object.keys(asked.limits).length > 0;
  const isSame = asked.engine === undefined || asked.engine === engine;
  const hasParams = Object.keys(asked.params).length > 0 || !isSame;
  const ofEngine = { engine, program, args, model, permissionMode, tools, disallowedTools };
  const ofAny = {
    ...(canDo(asked.engine ?? engine, "systemPrompt") && {
      systemPrompt,
      directive: asked.systemPrompt === undefined ? directive : undefined,
    }),
    ...(canDo(asked.engine ?? engine, "outputSchema") && { outputSchema }),
  };
  return {
    ...definedOf({ ...(isSame && ofEngine), ...ofAny }),
    ...asked,
    limits: hasLimits ? asked.limits : limits,
    params: hasParams ? asked.params : params,
    needs: asked.needs.length > 0 || !isSame ? asked.needs : needs,
  };
}

function originOf({ folder, point }: Prepared, fork: Prepared["point"]["fork"]): Origin {
  const { threadId, seq, messageId } = point;
  return { folder, config: { threadId, seq, ...(messageId !== undefined && { messageId }), ...fork } };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function definedOf<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
