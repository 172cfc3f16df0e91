/**
 * Where a conversation can be branched, as its transcript tells. Pure.
 *
 * A point is a text of the agent, a result after which no call is open, or a message that the agent has read. What it
 * had read and said until then is the branch's; a message that waited is not.
 */
import type { ThreadId } from "../ids.ts";
import type { ThreadEvent } from "./events.ts";
import { foldMode, type ModeChoice } from "./modes.ts";

/** The event with this number or the message with this id; the newest point if neither is named. */
export interface WantedPoint {
  seq?: number | undefined;
  messageId?: string | undefined;
}

export interface BranchPoint<Mark> {
  /** Whose transcript it lies in. */
  threadId: ThreadId;
  /** The number of the event that it is. */
  seq: number;
  /** The id of a person's message: messages that were delivered together with it, behind it, are not the branch's. */
  messageId?: string;
  /** The engine's conversation and the line in it; without them the engine can't fork there. */
  fork?: { sessionId: string; at: string };
  /** What people had chosen until then. */
  chosen: { modeId?: string; model?: string };
  /** Behind the last line that is the branch's. */
  end: Mark;
}

interface Delivery {
  messageIds: readonly string[];
  /** The best point before it was taken: what counts again if the engine had not kept it. */
  before?: Found;
}
type Found = Omit<BranchPoint<never>, "end"> & { end: unknown };

/** Is given a transcript's events in order, that of a branch behind its `origin.jsonl`. */
export class PointFinder<Mark> {
  readonly #wanted: WantedPoint;
  /** Positions are of this thread's transcript. */
  readonly #ownThreadId: ThreadId;
  #threadId: ThreadId;
  /** The engine that ran last, and its conversation. */
  #run: { engine: string; sessionId: string } | undefined;
  #chosen: { model?: string } = {};
  #mode: ModeChoice = { modeId: null };
  readonly #openCalls = new Set<string>();
  readonly #unread = new Map<string, number>();
  /** The events of the messages that are not done. */
  readonly #seqs = new Map<string, number>();
  readonly #deliveries = new Map<string, Delivery>();
  #newest: Found | undefined;
  #exact: Found | undefined;

  constructor(wanted: WantedPoint, ownThreadId: ThreadId) {
    this.#wanted = wanted;
    this.#ownThreadId = ownThreadId;
    this.#threadId = ownThreadId;
  }

  get found(): BranchPoint<Mark> | undefined {
    const { seq, messageId } = this.#wanted;
    const isExact = messageId !== undefined || (seq !== undefined && this.isUnread);
    return (this.#exact ?? (isExact ? undefined : this.#newest)) as BranchPoint<Mark> | undefined;
  }

  /** The wanted one is a message that waits. */
  get isUnread(): boolean {
    const { seq, messageId } = this.#wanted;
    if (messageId !== undefined) return this.#unread.has(messageId);
    return seq !== undefined && [...this.#unread.values()].includes(seq);
  }

  /** @param end behind the event's line */
  take(event: ThreadEvent, end: Mark): void {
    this.#mode = foldMode(this.#mode, event, this.#run?.engine);
    switch (event.type) {
      case "thread_start":
        this.#begin(event.threadId);
        return;
      case "engine_start":
        this.#run = event;
        return;
      case "turn_end":
      case "engine_end":
        this.#openCalls.clear();
        return;
      case "config_update":
        if (event.by && event.model !== undefined) this.#chosen = { ...this.#chosen, model: event.model };
        return;
      case "user_message":
        this.#wait(event.messageId, event.seq);
        return;
      case "message_withdraw":
        if (event.applied) this.#unread.delete(event.messageId);
        return;
      case "delivery":
        this.#deliveries.set(event.deliveryId, { messageIds: event.messageIds });
        return;
      case "delivery_update":
        this.#takeDelivery(event, end);
        return;
      case "tool_call":
        if (event.parentToolCallId === undefined) this.#openCalls.add(event.toolCallId);
        return;
      case "tool_call_update":
        if (event.status === "in_progress" || !this.#openCalls.delete(event.toolCallId)) return;
        if (event.at !== undefined) this.#offer({ seq: event.seq, at: event.at }, end);
        return;
      case "agent_message":
        if (event.parentToolCallId !== undefined) return;
        this.#offer({ seq: event.seq, at: event.at, says: event.messageId }, end);
        return;
      default:
        return;
    }
  }

  #begin(threadId: ThreadId): void {
    this.#threadId = threadId;
    this.#run = undefined;
    this.#openCalls.clear();
    this.#unread.clear();
    this.#seqs.clear();
    this.#deliveries.clear();
  }

  #wait(messageId: string, seq: number | undefined): void {
    if (seq === undefined) return;
    this.#unread.set(messageId, seq);
    this.#seqs.set(messageId, seq);
  }

  #takeDelivery(event: Extract<ThreadEvent, { type: "delivery_update" }>, end: Mark): void {
    const { deliveryId, status } = event;
    const delivery = this.#deliveries.get(deliveryId);
    if (!delivery) return;
    const { messageIds, before } = delivery;
    if (status === "queued") {
      const isOfIt = (point: Found | undefined) => messageIds.some((id) => id === point?.messageId);
      if (isOfIt(this.#newest)) this.#newest = before;
      if (isOfIt(this.#exact)) this.#exact = undefined;
      for (const messageId of messageIds) this.#wait(messageId, this.#seqs.get(messageId));
      return;
    }
    if (status === "cancelled" || status === "completed") {
      this.#deliveries.delete(deliveryId);
      for (const messageId of messageIds) this.#seqs.delete(messageId);
      return;
    }
    this.#deliveries.set(deliveryId, { messageIds, ...(this.#newest && { before: this.#newest }) });
    for (const messageId of messageIds) {
      const seq = this.#unread.get(messageId);
      this.#unread.delete(messageId);
      const isLast = messageId === messageIds.at(-1);
      // The engine keeps what is delivered at once as one line.
      const at = isLast ? deliveryId : undefined;
      if (seq !== undefined) this.#offer({ seq, at, messageId, until: event.seq }, end);
    }
  }

  #offer({ seq, at, messageId, says, until = seq }: Offered, end: Mark): void {
    const canFork = at !== undefined && this.#run !== undefined && this.#openCalls.size === 0;
    const point: Found = {
      threadId: this.#threadId,
      seq,
      ...(messageId !== undefined && { messageId }),
      ...(canFork && { fork: { sessionId: this.#run?.sessionId ?? "", at } }),
      chosen: { ...(this.#mode.modeId !== null && { modeId: this.#mode.modeId }), ...this.#chosen },
      end,
    };
    const { seq: wantedSeq, messageId: wantedId } = this.#wanted;
    const isOwn = this.#threadId === this.#ownThreadId;
    const isWanted =
      wantedId === undefined ? isOwn && seq === wantedSeq : wantedId === messageId || wantedId === says;
    if (isWanted) this.#exact = point;
    if (this.#openCalls.size > 0) return; // the model waits for a result
    if (wantedSeq === undefined || !isOwn || until <= wantedSeq) this.#newest = point;
  }
}

interface Offered {
  seq: number;
  at: string | undefined;
  /** The id of a person's message. */
  messageId?: string;
  /** The words of the agent's message. */
  says?: string;
  /** The event by which all of it had happened. */
  until?: number;
}
