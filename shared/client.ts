/** The typed client of the sidecar's HTTP API: the only place that calls it. */
import * as z from "zod";
import {
  type AnswerRequest,
  type AskReply,
  answerReplySchema,
  asksReplySchema,
  blobReplySchema,
  type ControlReply,
  type ControlRequest,
  controlReplySchema,
  type DiffQuery,
  type DiffReply,
  diffReplySchema,
  type InboxItem,
  type InboxQuery,
  inboxReplySchema,
  rulesReplySchema,
  type Step,
  stepsReplySchema,
  type TranscriptQuery,
  type TranscriptReply,
  transcriptReplySchema,
} from "./agent/api.ts";
import { type Attachment, attachmentSchema, attachmentsReplySchema } from "./agent/attachments.ts";
import {
  type CreateRequest,
  createReplySchema,
  type Delivery,
  type InputReply,
  type InputRequest,
  inputReplySchema,
  type KillReply,
  killReplySchema,
  type ListQuery,
  type LogQuery,
  listReplySchema,
  type OutputQuery,
  type OutputReply,
  type OutputsReply,
  type OutputsRequest,
  outputReplySchema,
  outputsReplySchema,
  type ResizeRequest,
  resizeReplySchema,
  type ScreenQuery,
  type ScreenReply,
  screenReplySchema,
  type Thread,
  threadSchema,
} from "./api.ts";
import { type BranchReply, branchReplySchema, type branchRequestSchema } from "./branch-api.ts";
import { followEvents } from "./follow-events.ts";
import type { HomeRequest } from "./home-api.ts";
import { type CallOptions, HttpCall } from "./http-call.ts";
import type { EventsQuery, HubEvent, Reset } from "./hub-events.ts";
import {
  channelLedgerReplySchema,
  type KeptMessage,
  keptMessagesReplySchema,
  type LedgerRow,
  ledgersReplySchema,
  type MessageRequest,
} from "./ledger-api.ts";
import { type HealthReply, healthReplySchema, type Repo, reposReplySchema } from "./machine-api.ts";
import {
  type RemoveWorktreeReply,
  removeWorktreeReplySchema,
  type WorktreeReply,
  worktreeReplySchema,
} from "./worktree-api.ts";

/** The sidecar itself waits no longer for a request to arrive. */
const UPLOAD_TIMEOUT_MS = 30_000;

export interface ClientOptions {
  /** Base address, such as `http://127.0.0.1:3001`. */
  url: string;
  token: string;
  /** For each request as a whole. */
  timeoutMs?: number;
}

/**
 * Every method rejects with an {@link AppError}: the sidecar's own code and sentence, or `unavailable` where
 * no sidecar answered.
 */
export class SidecarClient {
  readonly #http: HttpCall;
  readonly #timeoutMs: number;

  constructor({ url, token, timeoutMs = 15_000 }: ClientOptions) {
    this.#http = new HttpCall({ url, token, timeoutMs });
    this.#timeoutMs = timeoutMs;
  }

  async createThread(request: CreateRequest): Promise<{ tmuxSession: string }> {
    return this.#call("POST", "/thread/create", createReplySchema, { body: request });
  }

  /** Makes an agent that goes on from a point of another one's conversation. */
  async branchThread(parentId: string, request: z.input<typeof branchRequestSchema>): Promise<BranchReply> {
    return this.#call("POST", `${threadPath(parentId)}/branch`, branchReplySchema, { body: request });
  }

  /** What is in an agent's worktree, and would be lost with it. */
  async getWorktree(threadId: string): Promise<WorktreeReply> {
    return this.#call("GET", `${threadPath(threadId)}/worktree`, worktreeReplySchema);
  }

  /** Removes an ended agent's worktree. */
  async removeWorktree(threadId: string, body: { force?: boolean } = {}): Promise<RemoveWorktreeReply> {
    return this.#call("POST", `${threadPath(threadId)}/worktree/remove`, removeWorktreeReplySchema, { body });
  }

  async sendInput(threadId: string, input: InputRequest): Promise<InputReply> {
    return this.#call("POST", `${threadPath(threadId)}/input`, inputReplySchema, { body: input });
  }

  async readOutput(threadId: string, query: OutputQuery = {}): Promise<OutputReply> {
    const timeoutMs = this.#timeoutMs + Number(query.waitMs ?? 0);
    return this.#call("GET", `${threadPath(threadId)}/output`, outputReplySchema, { query, timeoutMs });
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
    return this.#call("GET", `${threadPath(threadId)}/transcript`, transcriptReplySchema, options);
  }

  /** As {@link readOutputs}, with agents' transcripts in the same request. */
  async readThreads(request: OutputsRequest, signal?: AbortSignal): Promise<OutputsReply> {
    const options = { body: request, timeoutMs: this.#timeoutMs + (request.waitMs ?? 0), signal };
    return this.#call("POST", "/threads/output", outputsReplySchema, options);
  }

  /**
   * What needs people, over all agents; of the turns that ended, those of the last `hours`, 24 if not given.
   * @param signal ends the request.
   */
  async listInbox(query: Partial<InboxQuery> = {}, signal?: AbortSignal): Promise<InboxItem[]> {
    return (await this.#call("GET", "/inbox", inboxReplySchema, { query, signal })).items;
  }

  /** What agents wait for people to decide, the oldest first; of one thread or of all. */
  async listAsks(threadId?: string): Promise<AskReply[]> {
    const path = threadId === undefined ? "/asks" : `${threadPath(threadId)}/asks`;
    return (await this.#call("GET", path, asksReplySchema)).asks;
  }

  async answerAsk(threadId: string, requestId: string, answer: AnswerRequest): Promise<void> {
    const path = `${threadPath(threadId)}/asks/${encodeURIComponent(requestId)}`;
    await this.#call("POST", path, answerReplySchema, { body: answer });
  }

  /**
   * Keeps a file for an agent's message. The same bytes under the same name again are the same file.
   * @returns what it is called there.
   */
  async attach(threadId: string, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<Attachment> {
    const options = { query: { name }, bytes, timeoutMs: UPLOAD_TIMEOUT_MS };
    return this.#call("POST", `${threadPath(threadId)}/attachments`, attachmentSchema, options);
  }

  async listAttachments(threadId: string): Promise<Attachment[]> {
    return (await this.#call("GET", `${threadPath(threadId)}/attachments`, attachmentsReplySchema))
      .attachments;
  }

  /** A file's bytes as they come. */
  downloadAttachment(
    threadId: string,
    name: string,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const path = `${threadPath(threadId)}/attachments/${encodeURIComponent(name)}`;
    return this.#http.download(path, {}, signal);
  }

  /** What people allowed an agent for as long as its thread goes on. */
  async listRules(threadId: string): Promise<string[]> {
    return (await this.#call("GET", `${threadPath(threadId)}/rules`, rulesReplySchema)).rules;
  }

  async controlAgent(threadId: string, { control, ...body }: ControlRequest): Promise<ControlReply> {
    return this.#call("POST", `${threadPath(threadId)}/${control}`, controlReplySchema, { body });
  }

  /** Changes a message that was sent to an agent; null takes it back. The transcript says whether it came in time. */
  async amendInput(threadId: string, inputId: string, text: string | null): Promise<void> {
    const path = `${threadPath(threadId)}/input/${encodeURIComponent(inputId)}`;
    await this.#call("PUT", path, controlReplySchema, { body: { text } });
  }

  /**
   * A text that a line of a transcript was cut of, or its beginning.
   * @param maxBytes about so much of it, in whole characters
   */
  async readBlob(threadId: string, sha256: string, maxBytes: number): Promise<string> {
    const path = `${threadPath(threadId)}/blobs/${sha256}`;
    let text = "";
    for (let since = 0; since < maxBytes; ) {
      const query = { since, limit: Math.min(maxBytes - since, 1024 * 1024) };
      const reply = await this.#call("GET", path, blobReplySchema, { query });
      text += reply.text;
      if (reply.offset >= reply.end || reply.offset === since) break;
      since = reply.offset;
    }
    return text;
  }

  /**
   * An agent's steps in the order in which they began: the first `limit` after the event `afterSeq`; with `beforeSeq`
   * the last `limit` before that event.
   */
  async listSteps(
    threadId: string,
    query: { afterSeq?: number; beforeSeq?: number; limit?: number } = {},
  ): Promise<Step[]> {
    return (await this.#call("GET", `${threadPath(threadId)}/steps`, stepsReplySchema, { query })).steps;
  }

  /** What an agent's turn changed. */
  async getDiff(threadId: string, query: DiffQuery = {}): Promise<DiffReply> {
    return this.#call("GET", `${threadPath(threadId)}/diff`, diffReplySchema, { query });
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
    return this.#http.download(`${threadPath(threadId)}/log`, query, signal);
  }

  /** What the terminal shows now. */
  async getScreen(threadId: string, query: ScreenQuery = {}): Promise<ScreenReply> {
    return this.#call("GET", `${threadPath(threadId)}/screen`, screenReplySchema, { query });
  }

  async resizeThread(threadId: string, size: ResizeRequest): Promise<void> {
    await this.#call("POST", `${threadPath(threadId)}/resize`, resizeReplySchema, { body: size });
  }

  /** Notes that a Discord thread is about to be made for a thread, or which it is. */
  async putHome(threadId: string, request: HomeRequest): Promise<void> {
    await this.#call("PUT", `${threadPath(threadId)}/home`, z.undefined(), { body: request });
  }

  async setTitle(threadId: string, title: string): Promise<void> {
    await this.#call("PUT", `${threadPath(threadId)}/title`, z.undefined(), { body: { title } });
  }

  /** Keeps the relay's mark of a thread; it comes back as `delivery` of the thread. */
  async putDelivery(threadId: string, mark: Delivery): Promise<void> {
    await this.#call("PUT", `${threadPath(threadId)}/delivery`, z.undefined(), { body: mark });
  }

  /** Notes in the ledger what is about to be sent to Discord, or what was sent. */
  async putMessage(threadId: string, key: string, note: MessageRequest): Promise<void> {
    const path = `${threadPath(threadId)}/messages/${encodeURIComponent(key)}`;
    await this.#call("PUT", path, z.undefined(), { body: note });
  }

  /** Which message is which, of those that were noted with `keep`; the oldest first. */
  async listKeptMessages(threadId: string): Promise<KeptMessage[]> {
    const path = `${threadPath(threadId)}/messages`;
    return (await this.#call("GET", path, keptMessagesReplySchema)).messages;
  }

  /** As {@link putMessage}, for a Discord channel. */
  async putChannelMessage(channelId: string, key: string, note: MessageRequest): Promise<void> {
    const path = `/channel/${encodeURIComponent(channelId)}/messages/${encodeURIComponent(key)}`;
    await this.#call("PUT", path, z.undefined(), { body: note });
  }

  /** The ledger of a Discord channel. @param signal ends the request. */
  async listChannelLedger(channelId: string, signal?: AbortSignal): Promise<LedgerRow[]> {
    const path = `/channel/${encodeURIComponent(channelId)}/messages`;
    return (await this.#call("GET", path, channelLedgerReplySchema, { signal })).messages;
  }

  /** The ledgers of many threads; a thread without rows is missing. */
  async listLedgers(query: ListQuery = {}): Promise<Record<string, LedgerRow[]>> {
    return (await this.#call("GET", "/threads/messages", ledgersReplySchema, { query })).threads;
  }

  /** Ends the thread and its whole process tree; TERM, then KILL after 2 s, so this can take some seconds. */
  async killThread(threadId: string): Promise<KillReply> {
    return this.#call("POST", `${threadPath(threadId)}/kill`, killReplySchema, { timeoutMs: 30_000 });
  }

  async listThreads(query: ListQuery = {}): Promise<Thread[]> {
    return (await this.#call("GET", "/threads", listReplySchema, { query })).threads;
  }

  async getThread(threadId: string): Promise<Thread> {
    return this.#call("GET", threadPath(threadId), threadSchema);
  }

  /**
   * What happens over all threads, each event once and in order, also over restarts of the sidecar: from now, or after
   * the event `since` (0: all that is kept). A {@link Reset} says that some are not kept any more.
   * @param signal ends it. @throws AppError if the sidecar refuses
   */
  followEvents(query: EventsQuery = {}, signal?: AbortSignal): AsyncGenerator<HubEvent | Reset> {
    const connect = (asked: EventsQuery, ended: AbortSignal) =>
      this.#http.download("/events", { ...asked }, ended);
    return followEvents(connect, query, signal);
  }

  async listRepos(prefix = ""): Promise<Repo[]> {
    return (await this.#call("GET", "/repos", reposReplySchema, { query: { prefix } })).repos;
  }

  async getHealth(): Promise<HealthReply> {
    return this.#call("GET", "/healthz", healthReplySchema);
  }

  #call<S extends z.ZodType>(
    method: string,
    path: string,
    schema: S,
    options: CallOptions = {},
  ): Promise<z.infer<S>> {
    return this.#http.json(method, path, schema, options);
  }
}

function threadPath(threadId: string): string {
  return `/thread/${encodeURIComponent(threadId)}`;
}
