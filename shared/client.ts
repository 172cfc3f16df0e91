/** The typed client of the sidecar's HTTP API: the only place that calls it. */

import type * as z from "zod";
import type {
  AnswerRequest,
  AskReply,
  ControlReply,
  ControlRequest,
  DiffQuery,
  DiffReply,
  InboxItem,
  InboxQuery,
  Step,
  TranscriptQuery,
  TranscriptReply,
} from "./agent/api.ts";
import type { Attachment } from "./agent/attachments.ts";
import type {
  CreateReply,
  CreateRequest,
  KillReply,
  ListQuery,
  LogQuery,
  OutputQuery,
  OutputReply,
  OutputsReply,
  OutputsRequest,
  ResizeRequest,
  Thread,
} from "./api.ts";
import type { BranchReply, branchRequestSchema } from "./branch-api.ts";
import { type Connect, type FollowHow, followEvents } from "./follow-events.ts";
import type { HomeRequest } from "./home-api.ts";
import { HttpCall } from "./http-call.ts";
import type { EventsQuery, HubEvent, Reset } from "./hub-events.ts";
import type { InputReply, InputRequest } from "./input-api.ts";
import type { Delivery, KeptMessage, LedgerRow, MessageRequest } from "./ledger-api.ts";
import type { HealthReply, Repo } from "./machine-api.ts";
import { readPieces } from "./pieces.ts";
import { agents } from "./protocol/agents.ts";
import { asks } from "./protocol/asks.ts";
import { attachments } from "./protocol/attachments.ts";
import { browsers } from "./protocol/browsers.ts";
import { channels } from "./protocol/channels.ts";
import { controls } from "./protocol/controls.ts";
import { inputs } from "./protocol/inputs.ts";
import { ledger } from "./protocol/ledger.ts";
import { output } from "./protocol/output.ts";
import { people as peopleRoutes } from "./protocol/people.ts";
import { type ParamsOf, pathOf, type ReadReply, type Route, type SentBody } from "./protocol/route.ts";
import { sidecar } from "./protocol/sidecar.ts";
import { threads } from "./protocol/threads.ts";
import type { ScreenQuery, ScreenReply } from "./screen-api.ts";
import type { ThreadDetail } from "./thread-detail.ts";
import type { RemoveWorktreeReply, WorktreeReply } from "./worktree-api.ts";

/** The sidecar itself waits no longer for a request to arrive. */
const UPLOAD_TIMEOUT_MS = 30_000;

/** The parts of a request besides its path. */
export interface Sent<R extends Route> {
  body?: SentBody<R>;
  /** Values as they are; `undefined` is left out. */
  query?: Readonly<Record<string, unknown>>;
  /** Sent as it is, instead of `body`. */
  bytes?: Uint8Array<ArrayBuffer>;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

export interface ClientOptions {
  /** Base address, such as `http://127.0.0.1:3001`. */
  url: string;
  token: string;
  /** For each request as a whole. */
  timeoutMs?: number;
  /** The roles at Discord of a user in whose name is asked; undefined: as the sidecar knows it. */
  rolesOf?: (discordId: string) => readonly string[] | undefined;
}

/**
 * Every method rejects with an {@link AppError}: the sidecar's own code and sentence, or `unavailable` where
 * no sidecar answered.
 */
export class SidecarClient {
  readonly #options: ClientOptions;
  readonly #http: HttpCall;
  readonly #timeoutMs: number;

  constructor(options: ClientOptions, person?: string) {
    const { timeoutMs = 15_000, rolesOf } = options;
    this.#options = options;
    const named = person === undefined ? undefined : { discordId: person, roles: rolesOf?.(person) };
    this.#http = new HttpCall({ ...options, timeoutMs, person: named });
    this.#timeoutMs = timeoutMs;
  }

  /** The same in the name of a Discord user, which only the relay's token may. */
  as(discordId: string): SidecarClient {
    return new SidecarClient(this.#options, discordId);
  }

  async createThread(request: CreateRequest): Promise<CreateReply> {
    return this.call(threads.create, {}, { body: request });
  }

  /** Makes an agent that goes on from a point of another one's conversation. */
  async branchThread(parentId: string, request: z.input<typeof branchRequestSchema>): Promise<BranchReply> {
    return this.call(threads.branch, { id: parentId }, { body: request });
  }

  /** What is in an agent's worktree, and would be lost with it. */
  async getWorktree(threadId: string): Promise<WorktreeReply> {
    return this.call(agents.getWorktree, { id: threadId });
  }

  /** Removes an ended agent's worktree. */
  async removeWorktree(threadId: string, body: { force?: boolean } = {}): Promise<RemoveWorktreeReply> {
    return this.call(agents.removeWorktree, { id: threadId }, { body });
  }

  async sendInput(threadId: string, input: InputRequest): Promise<InputReply> {
    return this.call(inputs.send, { id: threadId }, { body: input });
  }

  async readOutput(threadId: string, query: OutputQuery = {}): Promise<OutputReply> {
    const timeoutMs = this.#timeoutMs + Number(query.waitMs ?? 0);
    return this.call(output.read, { id: threadId }, { query, timeoutMs });
  }

  /**
   * The output of many threads at once; threads that do not exist are missing from the reply.
   * @param signal ends a request that waits.
   */
  async readOutputs(request: OutputsRequest, signal?: AbortSignal): Promise<Record<string, OutputReply>> {
    return (await this.readThreads(request, signal)).threads;
  }

  /** As {@link readOutput}, of an agent's transcript. */
  async readTranscript(threadId: string, query: TranscriptQuery = {}): Promise<TranscriptReply> {
    const options = { query, timeoutMs: this.#timeoutMs + (query.waitMs ?? 0) };
    return this.call(agents.readTranscript, { id: threadId }, options);
  }

  /** As {@link readOutputs}, with agents' transcripts in the same request. */
  async readThreads(request: OutputsRequest, signal?: AbortSignal): Promise<OutputsReply> {
    const options = { body: request, timeoutMs: this.#timeoutMs + (request.waitMs ?? 0), signal };
    return this.call(output.readMany, {}, options);
  }

  /**
   * What needs people, over all agents; of the turns that ended, those of the last `hours`, 24 if not given.
   * @param signal ends the request.
   */
  async listInbox(query: Partial<InboxQuery> = {}, signal?: AbortSignal): Promise<InboxItem[]> {
    return (await this.call(agents.listInbox, {}, { query, signal })).items;
  }

  /** What agents wait for people to decide, the oldest first; of one thread or of all. */
  async listAsks(threadId?: string): Promise<AskReply[]> {
    const reply =
      threadId === undefined ? this.call(asks.listAll, {}) : this.call(asks.list, { id: threadId });
    return (await reply).asks;
  }

  async answerAsk(threadId: string, requestId: string, answer: AnswerRequest): Promise<void> {
    await this.call(asks.answer, { id: threadId, requestId }, { body: answer });
  }

  /**
   * Keeps a file for an agent's message. The same bytes under the same name again are the same file.
   * @returns what it is called there.
   */
  async attach(threadId: string, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<Attachment> {
    const options = { query: { name }, bytes, timeoutMs: UPLOAD_TIMEOUT_MS };
    return this.call(attachments.add, { id: threadId }, options);
  }

  async listAttachments(threadId: string): Promise<Attachment[]> {
    return (await this.call(attachments.list, { id: threadId })).attachments;
  }

  /** A file's bytes as they come. */
  downloadAttachment(threadId: string, name: string, signal?: AbortSignal) {
    return this.#http.download(attachments.get, { id: threadId, name }, {}, signal);
  }

  /** The newest picture of a browser, a PNG. */
  downloadPicture(threadId: string): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#http.download(browsers.picture, { id: threadId });
  }

  /** What people allowed an agent for as long as its thread goes on. */
  async listRules(threadId: string): Promise<string[]> {
    return (await this.call(asks.listRules, { id: threadId })).rules;
  }

  async controlAgent(threadId: string, { control, ...body }: ControlRequest): Promise<ControlReply> {
    return this.call(controls[control], { id: threadId }, { body });
  }

  /** Changes a message that was sent to an agent; null takes it back. The transcript says whether it came in time. */
  async amendInput(threadId: string, inputId: string, text: string | null, plain?: true): Promise<void> {
    await this.call(inputs.amend, { id: threadId, inputId }, { body: { text, ...(plain && { plain }) } });
  }

  /**
   * A text that a line of a transcript was cut of, or its beginning.
   * @param maxBytes about so much of it, in whole characters
   */
  async readBlob(threadId: string, sha256: string, maxBytes: number): Promise<string> {
    const read = (query: { since: number; limit: number }) =>
      this.call(agents.readBlob, { id: threadId, sha256 }, { query });
    return readPieces(read, maxBytes);
  }

  /**
   * An agent's steps in the order in which they began: the first `limit` after the event `afterSeq`; with `beforeSeq`
   * the last `limit` before that event.
   */
  async listSteps(
    threadId: string,
    query: { afterSeq?: number; beforeSeq?: number; limit?: number } = {},
  ): Promise<Step[]> {
    return (await this.call(agents.listSteps, { id: threadId }, { query })).steps;
  }

  /** What an agent's turn changed. */
  async getDiff(threadId: string, query: DiffQuery = {}): Promise<DiffReply> {
    return this.call(agents.getDiff, { id: threadId }, { query: { ...query } });
  }

  /**
   * The whole log as it comes, raw or as plain text. Nothing of it is kept, so it may be of any size; a reader that
   * is slow, or stops, slows or ends the download. `signal` ends it too, also while nothing comes.
   */
  downloadLog(
    threadId: string,
    query: LogQuery = {},
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#http.download(output.getLog, { id: threadId }, query, signal);
  }

  /** What the terminal shows now. */
  async getScreen(threadId: string, query: ScreenQuery = {}): Promise<ScreenReply> {
    return this.call(threads.getScreen, { id: threadId }, { query });
  }

  async resizeThread(threadId: string, size: ResizeRequest): Promise<void> {
    await this.call(threads.resize, { id: threadId }, { body: size });
  }

  /** Notes that a Discord thread is about to be made for a thread, or which it is. */
  async putHome(threadId: string, request: HomeRequest): Promise<void> {
    await this.call(ledger.putHome, { id: threadId }, { body: request });
  }

  async setTitle(threadId: string, title: string): Promise<void> {
    await this.call(threads.setTitle, { id: threadId }, { body: { title } });
  }

  /** Keeps the relay's mark of a thread; it comes back as `delivery` of the thread. */
  async putDelivery(threadId: string, mark: Delivery): Promise<void> {
    await this.call(ledger.putDelivery, { id: threadId }, { body: mark });
  }

  /** Notes in the ledger what is about to be sent to Discord, or what was sent. */
  async putMessage(threadId: string, key: string, note: MessageRequest): Promise<void> {
    await this.call(ledger.putMessage, { id: threadId, key }, { body: note });
  }

  /** Which message is which, of those that were noted with `keep`; the oldest first. */
  async listKeptMessages(threadId: string): Promise<KeptMessage[]> {
    return (await this.call(ledger.listKept, { id: threadId })).messages;
  }

  /** As {@link putMessage}, for a Discord channel. */
  async putChannelMessage(channelId: string, key: string, note: MessageRequest): Promise<void> {
    await this.call(ledger.putChannelMessage, { channelId, key }, { body: note });
  }

  /** The ledger of a Discord channel. @param signal ends the request. */
  async listChannelLedger(channelId: string, signal?: AbortSignal): Promise<LedgerRow[]> {
    return (await this.call(ledger.listChannel, { channelId }, { signal })).messages;
  }

  /** The ledgers of many threads; a thread without rows is missing. */
  async listLedgers(query: ListQuery = {}): Promise<Record<string, LedgerRow[]>> {
    return (await this.call(ledger.list, {}, { query })).threads;
  }

  /** Ends the thread and its whole process tree; TERM, then KILL after 2 s, so this can take some seconds. */
  async killThread(threadId: string): Promise<KillReply> {
    return this.call(threads.kill, { id: threadId }, { timeoutMs: 30_000 });
  }

  async listThreads(query: ListQuery = {}): Promise<Thread[]> {
    return (await this.call(threads.list, {}, { query })).threads;
  }

  async getThread(threadId: string): Promise<ThreadDetail> {
    return this.call(threads.get, { id: threadId });
  }

  /**
   * What happens over all threads, each event once and in order, also over restarts of the sidecar: from now, or after
   * the event `since` (0: all that is kept). A {@link Reset} says that some are not kept any more.
   * @throws AppError if the sidecar refuses, or if something else keeps answering in its place
   */
  followEvents(query: EventsQuery = {}, ...how: FollowHow): AsyncGenerator<HubEvent | Reset> {
    const connect: Connect = (asked, ended) =>
      this.#http.download(sidecar.followEvents, {}, { ...asked }, ended);
    return followEvents(connect, query, ...how);
  }

  /** Says who alone has a role by the relay's own settings from then on, and what those are called who act in Discord. */
  async putPeople(
    people: SentBody<typeof peopleRoutes.put>["people"],
    handles: SentBody<typeof peopleRoutes.put>["handles"] = [],
  ): Promise<void> {
    await this.call(peopleRoutes.put, {}, { body: { people, handles } });
  }

  /** Says which channels the relay's own settings name. */
  async putFixedChannels(fixed: SentBody<typeof channels.putFixed>["channels"]): Promise<void> {
    await this.call(channels.putFixed, {}, { body: { channels: fixed } });
  }

  async listRepos(prefix = ""): Promise<Repo[]> {
    return (await this.call(sidecar.listRepos, {}, { query: { prefix } })).repos;
  }

  async getHealth(): Promise<HealthReply> {
    return this.call(sidecar.getHealth, {});
  }

  /** Calls a route by its definition: every route that replies with JSON, or with nothing. */
  async call<const R extends Route>(
    route: R,
    params: ParamsOf<R>,
    { query, ...sent }: Sent<R> = {},
  ): Promise<ReadReply<R>> {
    const options = { ...sent, ...(query && { query: { ...query } }) };
    const path = pathOf(route, params);
    return (await this.#http.json(route.method.toUpperCase(), path, route.reply, options)) as ReadReply<R>;
  }
}
