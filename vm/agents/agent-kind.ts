/** An agent: a conversation with a coding agent, driven by a runner in the thread's pane whenever there is work. */

import { agentConfigSchema } from "../../shared/agent/config.ts";
import { doingOf, emptyFold, turnNowOf } from "../../shared/agent/fold.ts";
import type { InboxLine } from "../../shared/agent/inbox.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { maySleep } from "../../shared/agent/place-order.ts";
import type { ThreadStatus } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { findProgram } from "../../shared/find-program.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Principal } from "../../shared/principal.ts";
import type { AgentRow } from "../store/agents.ts";
import type { Store } from "../store/store.ts";
import type { NewThread, StoredThread } from "../store/threads.ts";
import { type Ending, type RunEnd, whyOver } from "../threads/ending.ts";
import type { CreateRequest, Input, Kind, KindDescription } from "../threads/kinds/kind.ts";
import { NO_AGENT } from "../threads/kinds/kind.ts";
import type { ThreadFiles } from "../threads/thread-files.ts";
import type { Pane } from "../tmux/pane.ts";
import { AgentSaid } from "./agent-said.ts";
import { type AgentThreads, folderGone } from "./agent-threads.ts";
import type { Attachments } from "./attachments.ts";
import type { AgentFolders } from "./folders.ts";
import { chooseLaunch, type Launch, type LaunchOptions, notInstalled } from "./launch.ts";
import { MessageLines } from "./message-lines.ts";
import { checkOutputSchema } from "./output-schema.ts";
import { findNarrowMode, markedConfig, refuseUnmarkable } from "./outside.ts";
import type { Removal } from "./removal.ts";
import { beginningLines, checkMessage, killLine, threadConfig } from "./requests.ts";
import { refuseIfFull } from "./room.ts";
import type { Runners } from "./runners.ts";
import type { Starter } from "./starter.ts";
import { refuseInitialMessages, refuseUnsupported } from "./support.ts";
import type { Worktrees } from "./worktrees.ts";

/** How many runners in a row may end without a word before a person has to say *Go on*. */
const MAX_STARTS_IN_VAIN = 3;

export interface AgentKindOptions {
  store: Store;
  files: ThreadFiles;
  folders: AgentFolders;
  agents: AgentThreads;
  attachments: Attachments;
  runners: Runners;
  worktrees: Worktrees;
  removal: Removal;
  settings: LaunchOptions;
  /** The folder of the engines that come with threadmux. */
  ownPrograms: string;
  /** The environment of the threads' programs; the agent's program is looked up on its PATH. */
  threadEnv: Record<string, string>;
  starter: Starter;
  log: Log;
  now: () => number;
}

export class AgentKind implements Kind {
  readonly #options: AgentKindOptions;
  readonly #lines: MessageLines;
  readonly said: AgentSaid;

  constructor(options: AgentKindOptions) {
    this.#options = options;
    this.#lines = new MessageLines(options);
    this.said = new AgentSaid(options);
  }

  /**
   * @throws AppError `unsupported`, `invalid_request`, `too_large`, or `unavailable` if the agent's program is not on
   * the machine, or `thread_exists` if the place of its worktree is taken.
   */
  checkCreation(request: CreateRequest): void {
    const { settings, threadEnv, worktrees } = this.#options;
    const { agent } = request;
    const launch = this.#launchOf(request);
    if (request.workspace?.kind === "new") worktrees.refuseKept(request.threadId);
    if (request.workspace?.kind === "there") worktrees.refuseLeaving(request.workspace.dir);
    refuseInitialMessages(request, launch.engine);
    if (agent) refuseUnsupported(agent, launch.engine, settings);
    if (agent?.outputSchema) checkOutputSchema(agent.outputSchema, launch.engine);
    if (request.outside?.marks !== undefined) refuseUnmarkable(launch.engine, "agent.engine");
    if (findProgram(launch.program, threadEnv["PATH"] ?? "") === undefined) throw notInstalled(launch);
  }

  checkRoom(): void {
    refuseIfFull(this.#options.store);
  }

  #launchOf({ agent }: CreateRequest): Launch {
    const { settings, ownPrograms } = this.#options;
    return chooseLaunch(agent ?? {}, settings, ownPrograms);
  }

  store(thread: NewThread, request: CreateRequest): void {
    const { store, folders, worktrees, agents, settings, now } = this.#options;
    const number = store.agents.takeNumber();
    const launch = this.#launchOf(request);
    const agent = markedConfig(request.agent ?? agentConfigSchema.parse({}), launch.engine, request.outside);
    const { config, folder, locks } = request.origin ?? {};
    const known = config && store.agents.find(config.threadId);
    const origin = config && { threadId: config.threadId, number: known?.number ?? null, seq: config.seq };
    const place = worktrees.placeOf(thread, number, request.workspace);
    const path = place.worktree?.path ?? place.path ?? thread.path;
    const mcpConfigFile = threadPath(folders.of(thread.threadId), "mcp");
    const { timeouts } = settings;
    const { taken } = request;
    const parts = { number, agent, launch, timeouts, origin: config, taken, mcpConfigFile };
    const made = threadConfig(thread, parts);
    folders.make({ ...made, dir: place.dir, ...(place.worktree && { worktree: place.worktree }) }, folder);
    store.threads.insert({ ...thread, path, called: agent.directive?.name });
    const status = thread.command === "" ? "idle" : "running";
    const row = { threadId: thread.threadId, number, status, fold: emptyFold() } as const;
    store.agents.insert({ ...row, origin: origin ?? null });
    if (locks !== undefined) store.agents.setLocked(locks, true);
    const { inputId, hops, causes, plain } = request;
    const first = { inputId, text: thread.command, by: thread.createdBy, plain, hops, causes };
    const told = { ...first, outside: request.outside };
    // One that goes on from another conversation may wait for its first message.
    const message = this.#lines.of(thread.threadId, told, []);
    const lines = [...beginningLines(request, now()), ...message];
    if (lines.length === 0) return;
    agents.get(thread.threadId).append(lines);
    if (inputId !== undefined) store.inputs.set(thread.threadId, inputId, "sent");
  }

  async open(thread: StoredThread): Promise<void> {
    const { store, folders, starter } = this.#options;
    const { threadId } = thread;
    // From here on it may work. If the sidecar is killed, it goes on: one made anew would do the same again.
    store.threads.update(threadId, { status: "idle", isMade: true });
    // It may stand where the one that it knows stood: it is there, whether its runner can be started now or later.
    if (folders.hasOrigin(threadId) || starter.isCrowded) await starter.startIfNeeded(threadId);
    else await starter.start(thread);
  }

  async hasTaken({ threadId }: StoredThread, inputId: string): Promise<boolean> {
    const { store, agents } = this.#options;
    const state = store.inputs.find(threadId, inputId);
    // A crash between the two: the inbox has the last word.
    return state === "sent" || (state === "sending" && agents.get(threadId).hasMessage(inputId));
  }

  async takeInput(thread: StoredThread, input: Input): Promise<{ isHidden: boolean }> {
    if ("key" in input)
      throw new AppError("invalid_request", "key: an agent takes text; to end its turn, interrupt it.");
    if (this.#options.agents.get(thread.threadId).isPaused) {
      throw new AppError(
        "thread_paused",
        "This thread is paused: it takes messages again once it is resumed.",
      );
    }
    this.#refuseLocked(thread.threadId, input.when);
    await this.takeMessage(thread, input);
    return { isHidden: false };
  }

  /** A turn that still runs hears what is said in it. */
  #refuseLocked(threadId: ThreadId, when: "now" | "next_turn" | undefined): void {
    const agent = this.#options.store.agents.find(threadId);
    if (!agent?.isLocked) return;
    const { status } = this.describeAgent(agent);
    const isInTurn = status === "running" || status === "waiting" || status === "queued";
    if (isInTurn && when !== "next_turn") return;
    throw new AppError(
      "thread_locked",
      "This thread was branched and is locked: write to its branch, or resume this one.",
    );
  }

  /**
   * Stores a message together with lines that come before it: all of them or none.
   * @throws AppError `invalid_request`, `too_large`, `unsupported`, `not_found` if an attachment is not there
   */
  async takeMessage(
    thread: StoredThread,
    input: Omit<Exclude<Input, { key: string }>, "enter" | "paste">,
    before: readonly InboxLine[] = [],
  ): Promise<void> {
    const { store, agents, folders, attachments } = this.#options;
    const { threadId } = thread;
    const files = await attachments.blocksOf(threadId, input.attachments ?? []);
    checkMessage(input.text, files);
    const { hasMessages } = agents.get(threadId);
    if (hasMessages && folders.findConfig(threadId)?.agent.mode === "single") {
      throw new AppError(
        "thread_single",
        "This thread takes no second message: it was made with agent.mode single.",
      );
    }
    const { inputId } = input;
    const lines = this.#lines.of(threadId, input, files, () =>
      findNarrowMode(folders.findConfig(threadId)?.agent, agents.get(threadId)),
    );
    if (inputId !== undefined) store.inputs.set(threadId, inputId, "sending");
    await this.append(thread, [...before, ...lines]);
    this.#lines.noteHeard(threadId, lines);
    if (inputId !== undefined) store.inputs.set(threadId, inputId, "sent");
  }

  /** Lines for the runner, which is started if none runs. They are on the disk when this resolves. */
  async append(thread: StoredThread, lines: readonly InboxLine[]): Promise<void> {
    const { agents, store } = this.#options;
    const { threadId } = thread;
    agents.get(threadId).append(lines);
    store.agents.setRunners(threadId, { startsInVain: 0, problem: null });
    await this.#options.starter.startIfNeeded(threadId);
  }

  asksForPaste = async () => false; // its messages come whole

  whyNoInput(status: ThreadStatus): string {
    return whyOver(status);
  }

  findEnd({ threadId }: StoredThread): RunEnd | undefined {
    const { store, files } = this.#options;
    const agent = store.agents.find(threadId);
    return agent && files.findRunEnd(threadId, agent.run);
  }

  async takeEnd(thread: StoredThread, { exitCode }: Pick<Ending, "exitCode">): Promise<void> {
    const { store, agents, runners, starter, log } = this.#options;
    const { threadId } = thread;
    await runners.endSession(threadId);
    await agents.unwatch(threadId);
    store.threads.update(threadId, { status: "idle" });
    const agent = store.agents.find(threadId);
    const isAsleep = exitCode === 0 && agent !== undefined && maySleep(agent.fold);
    if (agent && agent.transcriptBytes === agent.startedAtBytes && agent.run > 0 && !isAsleep) {
      const startsInVain = agent.startsInVain + 1;
      const problem =
        startsInVain < MAX_STARTS_IN_VAIN
          ? null
          : `The agent's runner ended ${startsInVain} times without doing anything; the thread's terminal says why.`;
      store.agents.setRunners(threadId, { startsInVain, problem });
      log.warn({ threadId, startsInVain }, "a runner ended without a word");
    }
    starter.note(threadId);
    await starter.startIfNeeded(threadId);
  }

  isOutOfStep(thread: StoredThread, hasSession: boolean): boolean {
    const { threadId, status } = thread;
    if (status === "running") return !hasSession || !this.#options.agents.isWatched(threadId);
    return this.#options.starter.needsRunner(threadId);
  }

  async reconcile(thread: StoredThread, pane: Pane | undefined): Promise<void> {
    const { store, agents } = this.#options;
    const { threadId, status } = thread;
    if (status === "running" && pane) {
      // A runner that an earlier sidecar started goes on. If that was killed as it began, nobody has noted its pane.
      const { paneId, pid: panePid, tty } = pane;
      store.threads.update(threadId, { paneId, panePid, tty });
      agents.watch(threadId);
      return;
    }
    if (status === "running") {
      await agents.unwatch(threadId);
      store.threads.update(threadId, { status: "idle" });
    }
    await this.#options.starter.startIfNeeded(threadId);
  }

  describe({ threadId, status }: StoredThread): KindDescription {
    const { store, folders, starter } = this.#options;
    const agent = store.agents.find(threadId);
    if (!agent) return NO_AGENT;
    const parentId = folders.parentOf(threadId);
    const { number, awaiting, fold, origin } = agent;
    const now =
      status === "killed" ? { ...agent, waiting: 0, problem: null, status } : this.describeAgent(agent);
    return {
      status: now.status,
      processRunning: status === "running",
      number,
      ...folders.madeBy(threadId),
      awaiting,
      waiting: now.waiting,
      problem: now.problem,
      doing: status === "killed" ? null : (starter.titleOf(threadId) ?? doingOf(fold, this.#options.now())),
      turn: status === "killed" ? null : turnNowOf(fold),
      output: fold.output ?? null,
      holds: now.status === "running" || now.status === "waiting" ? folders.holdsOf(threadId) : null,
      activeAt: fold.ts,
      ...(parentId !== undefined && { parentId }),
      origin,
    };
  }

  /** What is true now, with what the runner has not read yet: a message counts from the moment it was taken. */
  describeAgent(agent: AgentRow): Pick<AgentRow, "status" | "problem"> & { waiting: number } {
    const { agents, folders } = this.#options;
    const { threadId, status, fold, problem } = agent;
    const isKilled = status === "killed";
    const isGone = !isKilled && !folders.exists(threadId);
    const why = isGone ? folderGone(threadId) : problem;
    const unread = isKilled || isGone ? 0 : agents.get(threadId).unreadMessages;
    const isAsleep = status === "idle" && unread > 0;
    const rested = isAsleep ? "running" : status === "idle" ? this.#restOf(agent) : status;
    return {
      status: why !== null && !isKilled ? "failed" : rested,
      problem: why,
      waiting: fold.messages.length + unread,
    };
  }

  #restOf({ threadId, isLocked, fold }: AgentRow): AgentRow["status"] {
    if (isLocked) return "locked";
    return fold.totals.turns > 0 && this.#options.folders.isSingle(threadId) ? "completed" : "idle";
  }

  diskBytes(threadId: ThreadId): Promise<number> {
    return this.#options.folders.diskBytes(threadId);
  }

  /** The processes are gone: a last runner writes down what that ended. */
  async takeKill({ threadId }: StoredThread, by?: Principal): Promise<void> {
    const { store, agents, runners, starter, log, now } = this.#options;
    try {
      await runners.endAll(threadId); // an engine whose runner died is in no pane's tree
      agents.get(threadId).append([killLine(now(), by)]);
      await runners.runToClose(threadId);
      await agents.catchUp(threadId);
    } catch (error) {
      log.error({ threadId, err: error }, "could not write down a thread's end");
    }
    store.transaction(() => {
      store.asks.endAll(threadId);
      store.agents.setStatus(threadId, "killed");
    });
    agents.forget(threadId);
    starter.forget(threadId);
  }

  remove(threadId: ThreadId): void {
    const { store, agents, folders, removal, starter, worktrees } = this.#options;
    agents.forget(threadId);
    starter.forget(threadId);
    const config = folders.exists(threadId) ? folders.findConfig(threadId) : undefined;
    removal.begin(folders.setAside(threadId));
    const isUsed = store.threads
      .list("open")
      .some((one) => one.threadId !== threadId && one.path === config?.worktree?.path);
    if (config?.worktree && !isUsed) void worktrees.tidy(config);
  }
}
