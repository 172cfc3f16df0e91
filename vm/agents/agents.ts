/** What callers do with agent threads beyond what every thread can: read the transcript, answer, control. */
import type {
  AmendRequest,
  AnswerRequest,
  AskReply,
  BlobReply,
  ControlRequest,
  DiffReply,
  InboxItem,
  InboxQuery,
  TranscriptReply,
} from "../../shared/agent/api.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { findAsk } from "../../shared/agent/fold-asks.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { STOP_OPTION } from "../../shared/agent/limits.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import { type KeyedQueue, Slots } from "../../shared/lifecycle.ts";
import type { Principal } from "../../shared/principal.ts";
import type { WorktreeReply } from "../../shared/worktree-api.ts";
import type { StepRow, StepsQuery } from "../store/steps.ts";
import type { Store } from "../store/store.ts";
import { threadEnded, whyOver } from "../threads/ending.ts";
import type { Threads } from "../threads/threads.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentMessage } from "./agent-message.ts";
import type { AgentThreads } from "./agent-threads.ts";
import { readDiff } from "./diff.ts";
import type { EndedThreads } from "./ended-threads.ts";
import type { AgentFolders } from "./folders.ts";
import { linesFromAgents } from "./from-agents.ts";
import type { NotedField, NotedType, ToldChildren } from "./inbox.ts";
import { readKept } from "./kept-transcript.ts";
import { listInbox } from "./needs.ts";
import { amendLine, answerLine, checkMessage, controlLine } from "./requests.ts";
import type { Starter } from "./starter.ts";
import { nothingChanged, refuseByState, refuseControl, withTarget } from "./support.ts";
import { findLive, hasTurn, readBlob } from "./transcript.ts";
import type { Worktrees } from "./worktrees.ts";

export interface AgentsOptions {
  store: Store;
  threads: Threads;
  folders: AgentFolders;
  agents: AgentThreads;
  kind: AgentKind;
  endedThreads: EndedThreads;
  starter: Starter;
  worktrees: Worktrees;
  queue: KeyedQueue;
  /** The settings of all agents. */
  settings: { allowBypass?: boolean };
  /** For git. */
  threadEnv: Record<string, string>;
  now: () => number;
}

/** All callers together. */
const MAX_GITS = 2;

/** A directory is trusted, and a day's limit raised or waited for, for all threads at once. */
const isForAll = ({ request }: AskReply) =>
  request.type === "permission_request" &&
  (request.trust === true || request.limit?.day !== undefined || request.limit?.resetsAt !== undefined);
const callKeyOf = ({ request }: AskReply) => request.callKey;

export class Agents {
  readonly #options: AgentsOptions;
  readonly #gits = new Slots(MAX_GITS);

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  /** @throws AppError `not_found`, `range` */
  async readTranscript(
    threadId: ThreadId,
    range: { since: number; limit: number },
  ): Promise<TranscriptReply> {
    const { store, kind } = this.#options;
    const { agent, folder, part } = await readKept(this.#options, threadId, range);
    const { status, problem } = kind.describeAgent(agent);
    const live = this.#options.starter.liveOf(threadId, findLive(folder) ?? null);
    const title = store.threads.find(threadId)?.title ?? "";
    return { ...part, status, title, problem, live };
  }

  /** A part of a text that a line was cut of. @throws AppError `not_found` */
  async readBlob(
    threadId: ThreadId,
    sha256: string,
    { since, limit }: { since: number; limit: number },
  ): Promise<BlobReply> {
    this.#options.threads.getStored(threadId);
    const blob = await readBlob(this.#options.folders.of(threadId), sha256, { since, limit });
    if (!blob) throw new AppError("not_found", `Thread ${threadId} has no text ${sha256}.`);
    return blob;
  }

  /** What a turn changed. @throws AppError `not_found` */
  async readDiff(
    threadId: ThreadId,
    { turnId, limit }: { turnId?: string | undefined; limit: number },
  ): Promise<DiffReply> {
    const { store, threads, threadEnv: env } = this.#options;
    const { path } = threads.getStored(threadId);
    const newest = turnId ?? store.agents.find(threadId)?.fold.lastChanges;
    if (newest === undefined) throw nothingChanged();
    const read = () => readDiff({ threadId, path, turnId: newest, maxBytes: limit, env });
    const diff = await this.#gits.run(read, new AbortController().signal);
    if (!diff) throw new Error("nobody ends the wait for a diff");
    return diff;
  }

  /** What is in an agent's worktree. @throws AppError `not_found` */
  getWorktree(threadId: ThreadId): Promise<WorktreeReply> {
    const { threads, folders, worktrees } = this.#options;
    threads.getStored(threadId);
    return worktrees.describe(folders.exists(threadId) ? folders.findConfig(threadId) : undefined);
  }

  /** @throws AppError `not_found`, `worktree_in_use`, `worktree_dirty` */
  async removeWorktree(threadId: ThreadId, isForced: boolean): Promise<{ branch: string | null }> {
    const { threads, folders, worktrees, queue } = this.#options;
    threads.getStored(threadId);
    return queue.run(threadId, async () => {
      const config = folders.exists(threadId) ? folders.findConfig(threadId) : undefined;
      const path = config?.worktree?.path;
      const isUsed = this.#options.store.threads.list("open").some((thread) => thread.path === path);
      return worktrees.remove(config, { isUsed, isForced });
    });
  }

  /** The open asks, the oldest first: of all threads, or of one. @throws AppError `not_found` */
  listAsks(threadId?: ThreadId): AskReply[] {
    if (threadId !== undefined) this.#options.threads.getStored(threadId);
    const asks = this.#options.store.asks.listOpen();
    return threadId === undefined ? asks : asks.filter((ask) => ask.threadId === threadId);
  }

  /** The rules that people granted in a thread. @throws AppError `not_found` */
  listRules(threadId: ThreadId): readonly string[] {
    const agent = this.#options.store.agents.find(threadId);
    if (!agent) throw new AppError("not_found", `There is no agent thread ${JSON.stringify(threadId)}.`);
    return agent.fold.grantedRules;
  }

  /** What needs people, over all open agents; of the turns that ended, those of the last so many hours. */
  listInbox({ hours }: InboxQuery): InboxItem[] {
    const { store, kind, folders, now } = this.#options;
    const open = store.threads.list("open").flatMap((thread) => {
      const { threadId } = thread;
      const agent = store.agents.find(threadId);
      if (!agent) return [];
      const { channelId: home, parentId: channelId } = store.homes.find(threadId) ?? {};
      const known = { thread, agent, home, channelId, now: kind.describeAgent(agent) };
      return [{ ...known, ...folders.madeBy(threadId), lastTurn: store.steps.findLastTurn(threadId) }];
    });
    return listInbox(open, store.asks.listOpen(), now() - hours * 3_600_000);
  }

  /** @throws AppError `not_found` */
  listSteps(threadId: ThreadId, query: StepsQuery): StepRow[] {
    this.#options.threads.getStored(threadId);
    return this.#options.store.steps.list(threadId, query);
  }

  /**
   * A person's answer to an ask. The first one counts; it is in the inbox when this resolves.
   * @throws AppError `not_found`, `already_answered`, `ask_ended`, `thread_ended`, `invalid_request`
   */
  async answer(threadId: ThreadId, asked: string, answer: AnswerRequest, by: Principal): Promise<void> {
    const { store, queue, kind, now, agents } = this.#options;
    this.#options.threads.getStored(threadId);
    await queue.run(threadId, async () => {
      const thread = this.#getOpen(threadId);
      // After a restart another request stands for it: the person saw the same ask.
      const requestId = findAsk(agents.get(threadId).fold, asked)?.requestId ?? asked;
      const found = store.asks.find(threadId, requestId);
      if (!found)
        throw new AppError("not_found", `Thread ${threadId} has no ask ${JSON.stringify(requestId)}.`);
      // The sidecar may have died when the answer was in the inbox, and the row did not say so yet.
      const isAnswered = found.state === "answered" || agents.get(threadId).hasUnreadAnswer(requestId);
      if (isAnswered) throw new AppError("already_answered", "Somebody has answered this already.");
      if (found.state === "ended") throw new AppError("ask_ended", "This is not asked any more.");
      const line = answerLine(found.ask, answer, by, now());
      await kind.append(thread, [line]);
      store.asks.setState(threadId, requestId, "answered");
    });
    await this.#answerAlike(threadId, asked, answer, by);
  }

  /**
   * Other words for a message, or none: they count if the agent has not read it yet. The same again change nothing.
   * @throws AppError `not_found`, `thread_ended`, `invalid_request`, `too_large`
   */
  async amend(threadId: ThreadId, inputId: string, to: AmendRequest, by: Principal): Promise<void> {
    const { queue, kind, agents, now } = this.#options;
    this.#options.threads.getStored(threadId);
    await queue.run(threadId, async () => {
      const thread = this.#getOpen(threadId);
      const message = agents.get(threadId).findMessage(inputId);
      if (!message)
        throw new AppError("not_found", `Thread ${threadId} has no message ${JSON.stringify(inputId)}.`);
      if (to.text !== null) checkMessage(to.text, message.files);
      if (message.text === to.text) return;
      await kind.append(thread, [amendLine(inputId, to, { by, files: message.files }, now())]);
    });
  }

  /** The agent sent a file, which is an attachment by now. One of the same id is told once. */
  noteFile(threadId: ThreadId, file: Omit<EventBody<"file_sent">, "type">): Promise<void> {
    return this.note(threadId, { type: "file_sent", ...file }, "fileId", file.fileId);
  }

  /** A child of the thread began or ended: told once each. A thread that is over is told nothing. */
  noteChild(
    threadId: ThreadId,
    event: EventBody<"thread_spawned"> | EventBody<"thread_ended">,
  ): Promise<void> {
    return this.note(threadId, event, "threadId", event.threadId);
  }

  /** Something that people should see in the thread: the same words once. */
  noteNotice(threadId: ThreadId, title: string): Promise<void> {
    return this.note(threadId, { type: "notice", severity: "info", title }, "title", title);
  }

  /** The agent wrote to another one: told once. */
  noteSent(threadId: ThreadId, event: EventBody<"message_sent">): Promise<void> {
    return this.note(threadId, event, "messageId", event.messageId);
  }

  async note(threadId: ThreadId, event: EventBody<NotedType>, field: NotedField, id: string): Promise<void> {
    const { queue, kind, agents, now } = this.#options;
    await queue.run(threadId, async () => {
      const thread = this.#getOpen(threadId);
      if (agents.get(threadId).hasEvent(event.type, field, id)) return;
      await kind.append(thread, [{ ts: new Date(now()).toISOString(), op: "event", event }]);
    });
  }

  /** The thread's children, as it was told of them. */
  toldChildren(threadId: ThreadId): ToldChildren {
    return this.#options.agents.look(threadId, ({ children }) => children);
  }

  hasMessage(threadId: ThreadId, messageId: string): boolean {
    return this.#options.agents.get(threadId).hasMessage(messageId);
  }

  /** Messages of other agents that wait for a person, with those that its runner has not read yet. */
  async countHeld(threadId: ThreadId): Promise<number> {
    const { held = [] } = await this.foldNow(threadId);
    return held.length + this.#options.agents.get(threadId).unreadHeld;
  }

  /** What the thread comes to now, with all that its runner has written. @throws AppError `thread_ended` */
  async foldNow(threadId: ThreadId): Promise<ThreadFold> {
    const { agents } = this.#options;
    await agents.catchUp(threadId);
    return agents.look(threadId, ({ fold }) => fold);
  }

  /**
   * A message of another agent. One of the same id counts once.
   * @throws AppError `not_found`, `thread_ended`, `thread_paused`, `thread_single`, `thread_locked`, `unsupported`
   */
  takeFromAgent(threadId: ThreadId, message: AgentMessage): Promise<void> {
    return this.takeFromRoom(threadId, [message]);
  }

  /** As {@link takeFromAgent}, several that go in together, in this order. */
  async takeFromRoom(threadId: ThreadId, messages: readonly AgentMessage[]): Promise<void> {
    const { queue, kind } = this.#options;
    await queue.run(threadId, async () => {
      const thread = this.#getOpen(threadId);
      const lines = linesFromAgents(this.#options, threadId, messages);
      if (lines.length > 0) await kind.append(thread, lines);
    });
  }

  /** Asked once for all: other threads that ask about the very same directory, or day, get the same answer. */
  async #answerAlike(
    threadId: ThreadId,
    requestId: string,
    answer: AnswerRequest,
    by: Principal,
  ): Promise<void> {
    const { store, queue, kind, folders, now } = this.#options;
    const answered = store.asks.find(threadId, requestId)?.ask;
    if (!answered || !isForAll(answered)) return;
    // A person who stops one thread at the day's limit does not stop the others.
    if ("optionId" in answer && answer.optionId === STOP_OPTION) return;
    const isAlike = (ask: AskReply) => isForAll(ask) && callKeyOf(ask) === callKeyOf(answered);
    for (const ask of store.asks.listOpen().filter(isAlike)) {
      await queue.run(ask.threadId, async () => {
        const thread = store.threads.find(ask.threadId);
        const isAsked = store.asks.find(ask.threadId, ask.requestId)?.state === "open";
        if (!thread || !isOpen(thread.status) || !isAsked || !folders.exists(ask.threadId)) return;
        await kind.append(thread, [answerLine(ask, answer, by, now())]);
        store.asks.setState(ask.threadId, ask.requestId, "answered");
      });
    }
  }

  /**
   * @returns of a thread that is over, what came of it, in words: its transcript is followed no more
   * @throws AppError `not_found`, `thread_ended`, `unsupported`, and what a message is refused with
   */
  async control(threadId: ThreadId, request: ControlRequest, by: Principal): Promise<string | undefined> {
    const { queue, kind, folders, agents, endedThreads, now } = this.#options;
    const stored = this.#options.threads.getStored(threadId);
    if (request.control === "undo" && kindOf(stored).hasTurns && !isOpen(stored.status))
      return endedThreads.undo(threadId, request, by, queue);
    await queue.run(threadId, async () => {
      const thread = this.#getOpen(threadId);
      const agent = folders.findConfig(threadId)?.agent;
      if (agent) refuseControl(agent, request, this.#options.settings);
      const { fold } = agents.get(threadId);
      refuseByState(request, agent, agents.get(threadId), by);
      const isKnown = (turnId: string) => hasTurn(folders.of(threadId), turnId);
      const line = controlLine(await withTarget(request, fold, isKnown), by, now());
      if (request.control !== "resume") return kind.append(thread, [line]);
      const { input } = request;
      if (!input) await kind.append(thread, [line]);
      else if (input.inputId === undefined || !(await kind.hasTaken(thread, input.inputId)))
        await kind.takeMessage(thread, { ...input, by }, [line]);
      this.#options.store.agents.setLocked(threadId, false); // the resumption is written down
    });
    return undefined;
  }

  #getOpen(threadId: ThreadId) {
    const thread = this.#options.threads.getStored(threadId);
    if (!kindOf(thread).hasTurns) throw new AppError("not_found", `Thread ${threadId} is no agent thread.`);
    if (!isOpen(thread.status)) throw threadEnded(threadId, whyOver(thread.status));
    return thread;
  }
}
