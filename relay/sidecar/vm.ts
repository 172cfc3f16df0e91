/** The sidecar as the relay sees it. On which one a thread lives is known here and nowhere else. */
import type {
  AnswerRequest,
  AskReply,
  ControlRequest,
  DiffQuery,
  DiffReply,
  InboxItem,
  Step,
  TranscriptReply,
} from "../../shared/agent/api.ts";
import type { Attachment } from "../../shared/agent/attachments.ts";
import { type BlobMap, readWhole } from "../../shared/agent/bound.ts";
import type {
  CreateRequest,
  KillReply,
  LogQuery,
  OutputsReply,
  OutputsRequest,
  ResizeRequest,
} from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { DirectiveReply } from "../../shared/directive-api.ts";
import type { EngineState } from "../../shared/engines-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { FollowRequest, ViewRequest } from "../../shared/follow-api.ts";
import type { HomeRequest } from "../../shared/home-api.ts";
import type { DiscordId, ThreadId, ThreadName } from "../../shared/ids.ts";
import type { InputReply, InputRequest } from "../../shared/input-api.ts";
import type { Delivery, KeptMessage, LedgerRow, MessageRequest } from "../../shared/ledger-api.ts";
import type { Repo } from "../../shared/machine-api.ts";
import { MemoryClient } from "../../shared/memory-client.ts";
import { PeopleClient } from "../../shared/people-client.ts";
import { agents } from "../../shared/protocol/agents.ts";
import { directives } from "../../shared/protocol/directives.ts";
import { engines } from "../../shared/protocol/engines.ts";
import { logs } from "../../shared/protocol/logs.ts";
import { RoomClient } from "../../shared/room-client.ts";
import type { ScreenQuery, ScreenReply } from "../../shared/screen-api.ts";
import { VoiceClient } from "../../shared/voice-client.ts";
import type {
  MergeHow,
  MergeWorktreeReply,
  RemoveWorktreeReply,
  WorktreeReply,
} from "../../shared/worktree-api.ts";
import { VmBrowser } from "./browser.ts";
import { VmChannels } from "./channels.ts";
import { findFile } from "./find-file.ts";
import { VmJobs } from "./jobs.ts";
import { type DiscordPlace, named, newInDiscord, type Thread } from "./names.ts";

type BranchRequest = Parameters<SidecarClient["branchThread"]>[1];

/** The part of a request for many threads in which a thread's position stands. */
export type Source = "since" | "transcripts";

export class Vm {
  readonly #client: SidecarClient;

  constructor(client: SidecarClient) {
    this.#client = client;
  }

  /** A handle, also of a thread that does not exist: its methods say so. */
  thread(threadId: ThreadName): VmThread {
    return new VmThread(this.#client, threadId);
  }

  get channels(): VmChannels {
    return new VmChannels(this.#client);
  }

  get people(): PeopleClient {
    return new PeopleClient(this.#client);
  }

  get voice(): VoiceClient {
    return new VoiceClient(this.#client);
  }

  get rooms(): RoomClient {
    return new RoomClient(this.#client);
  }

  get jobs(): VmJobs {
    return new VmJobs(this.#client);
  }

  get memory(): MemoryClient {
    return new MemoryClient(this.#client);
  }

  /** Why agents run without the sandbox that they should have; undefined if they have it, or should have none. */
  async findSandboxProblem(): Promise<string | undefined> {
    const health = await this.#client.getHealth().catch((error: unknown) => {
      if (error instanceof AppError) return undefined; // it is not well, and says that itself
      throw error;
    });
    return health?.sandbox?.problem ?? undefined;
  }

  /** The same in the name of a person. */
  as(discordId: string): Vm {
    return new Vm(this.#client.as(discordId));
  }

  /**
   * Makes a thread in a Discord thread.
   * @param ownId of the one in whose place it comes
   */
  async create(
    place: DiscordPlace,
    request: Omit<CreateRequest, "threadId" | "home">,
    ownId?: ThreadId,
  ): Promise<VmThread> {
    await this.#client.createThread({ ...request, ...newInDiscord(place, ownId) });
    return this.thread(place.threadId);
  }

  /** As {@link create}, of a branch. */
  async branch(parentId: ThreadName, place: DiscordPlace, request: Omit<BranchRequest, "threadId" | "home">) {
    await this.#client.branchThread(parentId, { ...request, ...newInDiscord(place, undefined) });
    return this.thread(place.threadId);
  }

  async listThreads(status: "open" | "all" = "open"): Promise<Thread[]> {
    return named(await this.#client.listThreads({ status }));
  }

  /** What needs people, over all agents. */
  listInbox(signal?: AbortSignal): Promise<InboxItem[]> {
    return this.#client.listInbox({}, signal);
  }

  listChannelLedger(channelId: DiscordId, signal: AbortSignal): Promise<LedgerRow[]> {
    return this.#client.listChannelLedger(channelId, signal);
  }

  putChannelMessage(channelId: DiscordId, key: string, note: MessageRequest): Promise<void> {
    return this.#client.putChannelMessage(channelId, key, note);
  }

  /** The ledgers of the open threads; one without rows is missing. */
  listLedgers(): Promise<Record<string, LedgerRow[]>> {
    return this.#client.listLedgers();
  }

  /** Reads the ledger of one thread, which may have ended. */
  async findLedger(threadId: ThreadName): Promise<LedgerRow[]> {
    return (await this.#client.listLedgers({ status: "all" }))[threadId] ?? [];
  }

  readThreads(request: OutputsRequest, signal?: AbortSignal): Promise<OutputsReply> {
    return this.#client.readThreads(request, signal);
  }

  /** As {@link create}, of a thread that follows logs. */
  async follow(place: DiscordPlace, request: Omit<FollowRequest, "threadId" | "home">): Promise<VmThread> {
    await this.#client.call(logs.create, {}, { body: { ...request, ...newInDiscord(place, undefined) } });
    return this.thread(place.threadId);
  }

  /** Lists what can be followed from a directory on. */
  async listServices(dir: string, prefix: string): Promise<string[]> {
    return (await this.#client.call(logs.listServices, {}, { query: { dir, prefix } })).services;
  }

  /** @param timeoutMs the sidecar may have to ask every engine's program first, and goes on with that by itself */
  async listEngines(timeoutMs: number): Promise<EngineState[]> {
    return (await this.#client.call(engines.list, {}, { timeoutMs })).engines;
  }

  /** Lists the directives that an agent in a directory may be made by. */
  async listDirectives(dir: string): Promise<DirectiveReply[]> {
    return (await this.#client.call(directives.list, {}, { query: { dir } })).directives;
  }

  listRepos(prefix: string): Promise<Repo[]> {
    return this.#client.listRepos(prefix);
  }
}

/** One thread on its sidecar: `thread.send(…)`. Every method rejects with an AppError. */
export class VmThread {
  readonly threadId: ThreadName;
  readonly #client: SidecarClient;

  constructor(client: SidecarClient, threadId: ThreadName) {
    this.#client = client;
    this.threadId = threadId;
  }

  /** The same in the name of a person. */
  as(discordId: string): VmThread {
    return new VmThread(this.#client.as(discordId), this.threadId);
  }

  async get(): Promise<Thread> {
    const [thread] = named([await this.#client.getThread(this.threadId)]);
    return thread as Thread;
  }

  /** Lists the channels that its agent hears, or in which it heard somebody; none if it has words of its own. */
  async listHeardIn(): Promise<DiscordId[]> {
    return (await this.#client.getThread(this.threadId)).heardIn ?? [];
  }

  /** Notes that its Discord thread is about to be made, or which it is. */
  putHome(request: HomeRequest): Promise<void> {
    return this.#client.putHome(this.threadId, request);
  }

  send(input: InputRequest): Promise<InputReply> {
    return this.#client.sendInput(this.threadId, input);
  }

  /** Keeps a file for an agent's message. @returns what it is called there */
  attach(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<Attachment> {
    return this.#client.attach(this.threadId, name, bytes);
  }

  /** A file of an agent's; undefined if it is gone, or has become larger than Discord takes. */
  async findAttachment(name: string): Promise<{ name: string; data: Buffer } | undefined> {
    return findFile(name, this.#client.downloadAttachment(this.threadId, name));
  }

  get browser(): VmBrowser {
    return new VmBrowser(this.#client, this.threadId);
  }

  /** Changes what a thread that follows logs shows of them. */
  async setView(view: ViewRequest): Promise<void> {
    await this.#client.call(logs.setView, { id: this.threadId }, { body: view });
  }

  kill(): Promise<KillReply> {
    return this.#client.killThread(this.threadId);
  }

  resize(size: ResizeRequest): Promise<void> {
    return this.#client.resizeThread(this.threadId, size);
  }

  getScreen(query: ScreenQuery): Promise<ScreenReply> {
    return this.#client.getScreen(this.threadId, query);
  }

  downloadLog(query: LogQuery, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#client.downloadLog(this.threadId, query, signal);
  }

  /** What there is from `offset` on. */
  read(source: Source, offset: number, limit: number): Promise<OutputsReply> {
    return this.#client.readThreads({ since: {}, limit, [source]: { [this.threadId]: offset } });
  }

  /** Whole lines of an agent's transcript, at least one. @throws AppError `not_found` */
  async readTranscript(since: number, limit: number): Promise<TranscriptReply> {
    const { transcripts } = await this.read("transcripts", since, limit);
    const reply = transcripts[this.threadId];
    if (reply) return reply;
    throw new AppError("not_found", "There is no such agent thread any more.");
  }

  /** Which of the thread's messages is which of its content's. */
  listKeptMessages(): Promise<KeptMessage[]> {
    return this.#client.listKeptMessages(this.threadId);
  }

  /** What an agent waits for a person to decide. */
  listAsks(): Promise<AskReply[]> {
    return this.#client.listAsks(this.threadId);
  }

  answerAsk(requestId: string, answer: AnswerRequest): Promise<void> {
    return this.#client.answerAsk(this.threadId, requestId, answer);
  }

  /** Gives a sent message other words; null takes it back. @param plain not all of them were typed by the person */
  amend(inputId: string, text: string | null, plain?: true): Promise<void> {
    return this.#client.amendInput(this.threadId, inputId, text, plain);
  }

  /** An event with its cut strings whole again, as far as `maxBytes` of each reach. */
  whole<T extends { blobs?: BlobMap | undefined }>(event: T, maxBytes: number): Promise<T> {
    return readWhole(event, (sha256) => this.#client.readBlob(this.threadId, sha256, maxBytes));
  }

  /** @throws AppError `not_found` if it has none */
  getWorktree(): Promise<WorktreeReply> {
    return this.#client.getWorktree(this.threadId);
  }

  /** @throws AppError `turn_running`, `worktree_in_use`, `worktree_dirty`, `merge_conflict` */
  mergeWorktree(how: MergeHow): Promise<MergeWorktreeReply> {
    return this.#client.call(agents.mergeWorktree, { id: this.threadId }, { body: { how } });
  }

  /** @throws AppError `worktree_in_use`, `worktree_dirty` */
  removeWorktree(force: boolean): Promise<RemoveWorktreeReply> {
    return this.#client.removeWorktree(this.threadId, { force });
  }

  /** What people allowed an agent for as long as its thread goes on. */
  listRules(): Promise<string[]> {
    return this.#client.listRules(this.threadId);
  }

  async control(request: ControlRequest): Promise<void> {
    await this.#client.controlAgent(this.threadId, request);
  }

  /** A thread that goes on from before text from outside got in; this one takes no more messages. */
  async beginAnew(threadId: ThreadId): Promise<void> {
    await this.#client.branchThread(this.threadId, {
      ...{ threadId, beforeOutside: true, lockParent: true, home: "discord" },
    });
  }

  /**
   * @returns the outcome in words if the thread is over, because nobody follows its transcript any more; otherwise
   * undefined
   */
  async undo(turnId: string): Promise<string | undefined> {
    return (await this.#client.controlAgent(this.threadId, { control: "undo", turnId })).outcome;
  }

  /** What a turn of an agent changed. */
  getDiff(query: DiffQuery): Promise<DiffReply> {
    return this.#client.getDiff(this.threadId, query);
  }

  /** An agent's steps, as the sidecar's client gives them. */
  listSteps(query: { afterSeq?: number; beforeSeq?: number; limit?: number }): Promise<Step[]> {
    return this.#client.listSteps(this.threadId, query);
  }

  setTitle(title: string): Promise<void> {
    return this.#client.setTitle(this.threadId, title);
  }

  putMark(mark: Delivery): Promise<void> {
    return this.#client.putDelivery(this.threadId, mark);
  }

  putMessage(key: string, note: MessageRequest): Promise<void> {
    return this.#client.putMessage(this.threadId, key, note);
  }
}
