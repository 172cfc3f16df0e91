/** The sidecar as the relay sees it. On which one a thread lives is known here and nowhere else. */
import type {
  CreateRequest,
  Delivery,
  InputRequest,
  KillReply,
  LedgerRow,
  LogQuery,
  MessageRequest,
  OutputReply,
  OutputsRequest,
  Repo,
  ResizeRequest,
  ScreenQuery,
  ScreenReply,
  Thread,
} from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";

export class Vm {
  readonly #client: SidecarClient;

  constructor(client: SidecarClient) {
    this.#client = client;
  }

  /** A handle, also of a thread that does not exist: its methods say so. */
  thread(threadId: string): VmThread {
    return new VmThread(this.#client, threadId);
  }

  async create(request: CreateRequest): Promise<VmThread> {
    await this.#client.createThread(request);
    return this.thread(request.threadId);
  }

  /** The open ones. */
  listThreads(): Promise<Thread[]> {
    return this.#client.listThreads();
  }

  /** The ledgers of the open threads; one without rows is missing. */
  listLedgers(): Promise<Record<string, LedgerRow[]>> {
    return this.#client.listLedgers();
  }

  /** Of one thread, which may have ended. */
  async findLedger(threadId: string): Promise<LedgerRow[]> {
    return (await this.#client.listLedgers({ status: "all" }))[threadId] ?? [];
  }

  readOutputs(request: OutputsRequest, signal?: AbortSignal): Promise<Record<string, OutputReply>> {
    return this.#client.readOutputs(request, signal);
  }

  listRepos(prefix: string): Promise<Repo[]> {
    return this.#client.listRepos(prefix);
  }
}

/** One thread on its sidecar: `thread.send(…)`. Every method rejects with an AppError. */
export class VmThread {
  readonly threadId: string;
  readonly #client: SidecarClient;

  constructor(client: SidecarClient, threadId: string) {
    this.#client = client;
    this.threadId = threadId;
  }

  get(): Promise<Thread> {
    return this.#client.getThread(this.threadId);
  }

  async send(input: InputRequest): Promise<void> {
    await this.#client.sendInput(this.threadId, input);
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

  /** What there is from `since` on. */
  async read(since: number, limit: number): Promise<OutputReply | undefined> {
    return (await this.#client.readOutputs({ since: { [this.threadId]: since }, limit }))[this.threadId];
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
