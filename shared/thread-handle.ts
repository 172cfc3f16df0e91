/** An agent's thread in hand, for programs: begun, looked at, waited for, gone on with. */
import { randomUUID } from "node:crypto";
import type { EventOf } from "./agent/events.ts";
import { findEvent } from "./agent/find-event.ts";
import type { CreateRequest, Thread } from "./api.ts";
import type { SidecarClient } from "./client.ts";
import { AppError } from "./errors.ts";
import { directives } from "./protocol/directives.ts";

/** One request waits so long at most. */
const LOOK_MS = 20_000;
const READ_BYTES = 256 * 1024;
/** A thread in one of these does nothing more before somebody does something about it. */
const STOPPED: readonly string[] = ["failed", "killed", "locked"];
const AT_WORK: readonly string[] = ["running", "queued", "waiting"];

/** `await`: the handle comes once the first turn has ended. `single`: the thread takes no second message. */
export type SpawnMode = "await" | "async" | "single";

/** As of `POST /thread/create`, for an agent. */
export interface SpawnRequest extends Omit<CreateRequest, "type" | "threadId"> {
  /** Not set: a new one. */
  threadId?: string;
  /** Not set: as its directive says, else `async`. */
  mode?: SpawnMode;
}

/** What a turn came to. */
export interface TurnResult {
  /** The agent's last words. */
  text: string;
  stopReason: EventOf<"turn_end">["stopReason"];
  /** The result of a thread with an `outputSchema`. */
  result?: unknown;
}

/** The error of a thread: its turn failed, it can't go on, or it is over. `timeout`: it goes on, and nobody waits. */
export class ThreadError extends Error {
  readonly threadId: string;
  readonly reason: "failed" | "timeout";

  constructor(threadId: string, reason: ThreadError["reason"], why: string) {
    super(`${threadId}: ${why}`);
    this.name = "ThreadError";
    this.threadId = threadId;
    this.reason = reason;
  }
}

export class ThreadHandle {
  readonly id: string;
  readonly #client: SidecarClient;
  /** So far its transcript was read. */
  #offset: number;
  #text = "";
  #end: EventOf<"turn_end"> | undefined;
  #stopped: string | undefined;

  /** @param offset of the transcript: the turn that ends behind it is this handle's */
  constructor(client: SidecarClient, id: string, offset: number) {
    this.#client = client;
    this.id = id;
    this.#offset = offset;
  }

  /** Whether its turn was over when this handle looked last. */
  get isDone(): boolean {
    return this.#end !== undefined || this.#stopped !== undefined;
  }

  /** @throws AppError `not_found` */
  async status(): Promise<Thread["status"]> {
    await this.#read(0);
    return (await this.#client.getThread(this.id)).status;
  }

  /**
   * What was said last, the oldest first; messages to the agent begin with `> `.
   * @param n so many texts at most, from 1
   * @throws AppError `not_found`, `invalid_request`
   */
  async peek(n = 1): Promise<string[]> {
    if (!Number.isInteger(n) || n < 1)
      throw new AppError("invalid_request", "n: must be a whole number from 1 on.");
    const { end } = await this.#client.readTranscript(this.id, { since: 0, limit: 1 });
    const since = Math.max(0, end - READ_BYTES);
    const { lines } = await this.#client.readTranscript(this.id, { since, limit: READ_BYTES });
    // The first line may be a line's rest.
    return lines
      .split("\n")
      .slice(since === 0 ? 0 : 1)
      .flatMap(wordsOf)
      .slice(-n);
  }

  /**
   * Waits until the turn has ended.
   * @param timeoutMs in milliseconds; without it for ever
   * @throws ThreadError if the turn failed or the thread is over, or after that time, when the thread goes on
   * @throws AppError `not_found`
   */
  async wait(timeoutMs = Number.POSITIVE_INFINITY): Promise<TurnResult> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const leftMs = Math.max(0, until - performance.now());
      const isMore = await this.#read(Math.ceil(Math.min(LOOK_MS, leftMs)));
      if (this.isDone && !isMore) return this.#result();
      if (!isMore && performance.now() >= until)
        throw new ThreadError(this.id, "timeout", `has not ended after ${timeoutMs} ms, and goes on.`);
    }
  }

  /** @returns whether there is more to read at once */
  async #read(waitMs: number): Promise<boolean> {
    const query = { since: this.#offset, limit: READ_BYTES, ...(waitMs > 0 && !this.isDone && { waitMs }) };
    const { lines, offset, more, status, problem } = await this.#client.readTranscript(this.id, query);
    this.#offset = offset;
    for (const line of lines.split("\n")) {
      const event = findEvent(line);
      if (event?.type === "agent_message" && event.parentToolCallId === undefined) this.#text = event.text;
      // One that was cut off is taken up again.
      if (event?.type === "turn_end" && event.stopReason !== "interrupted") this.#end = event;
    }
    if (!more && STOPPED.includes(status)) this.#stopped = problem ?? `is ${status}.`;
    return more;
  }

  #result(): TurnResult {
    const end = this.#end;
    const isBad = end?.stopReason === "error" || end?.output === "invalid_output";
    if (!end || isBad) throw new ThreadError(this.id, "failed", end?.error ?? this.#stopped ?? "has failed.");
    const { stopReason, result } = end;
    return { text: this.#text, stopReason, ...(result !== undefined && { result }) };
  }
}

/**
 * Begins an agent.
 * @throws AppError as {@link SidecarClient.createThread}
 * @throws ThreadError with `await`, if its first turn fails
 */
export async function spawn(
  client: SidecarClient,
  { mode: wanted, threadId = `spawned-${randomUUID()}`, ...request }: SpawnRequest,
): Promise<ThreadHandle> {
  const mode = wanted ?? (await modeOfDirective(client, request)) ?? "async";
  const agent = { ...request.agent, ...(wanted === "single" && { mode: wanted }) };
  await client.createThread({ ...request, agent, threadId, type: "agent" });
  const handle = new ThreadHandle(client, threadId, 0);
  if (mode === "await") await handle.wait();
  return handle;
}

/** Undefined: it has none, or says nothing of it. The sidecar refuses one that is not there. */
async function modeOfDirective(
  client: SidecarClient,
  { agent, dir }: Pick<CreateRequest, "agent" | "dir">,
): Promise<string | undefined> {
  const named = agent?.directive;
  if (named === undefined) return undefined;
  const { directives: all } = await client.call(directives.list, {}, { query: { dir } });
  return all.find(({ as, name, space }) => [as, `${space}:${name}`].includes(named))?.spawn;
}

/**
 * Writes to an agent that is at rest. A message that is to go into a running turn is sent with `sendInput`.
 * @throws AppError `turn_running` while it is at work, and as {@link SidecarClient.sendInput}
 */
export async function continueThread(client: SidecarClient, id: string, text: string): Promise<ThreadHandle> {
  const { status, waiting } = await client.getThread(id);
  if (AT_WORK.includes(status) || waiting > 0)
    throw new AppError("turn_running", `${id} is ${status}: wait until its turn has ended.`);
  const { end } = await client.readTranscript(id, { since: 0, limit: 1 });
  await client.sendInput(id, { inputId: randomUUID(), text });
  return new ThreadHandle(client, id, end);
}

function wordsOf(line: string): string[] {
  const event = findEvent(line);
  if (event?.type === "agent_message" && event.parentToolCallId === undefined) return [event.text];
  if (event?.type !== "user_message") return [];
  return [
    `> ${event.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join(" ")}`,
  ];
}
