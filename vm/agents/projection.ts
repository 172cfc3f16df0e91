/** New events of a transcript → rows of the database. The transcript is the truth, the rows can be made again. */
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import { awaitingOf, emptyFold, FOLD_VERSION, foldEvent, statusOf } from "../../shared/agent/fold.ts";
import { findAsk } from "../../shared/agent/fold-asks.ts";
import { causesNow } from "../../shared/agent/fold-causes.ts";
import { LET_IN_OPTION } from "../../shared/agent/fold-held.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { stepOf } from "../../shared/agent/steps.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { findDiscordMessage, UNANSWERED } from "../../shared/voice-api.ts";
import type { Store } from "../store/store.ts";
import { type AskRows, AsksAnew, askRows } from "./ask-rows.ts";
import type { PlacedEvent } from "./transcript.ts";

/** A thread's calls whose asks may still come, by id. */
type Calls = Map<string, EventOf<"tool_call">>;

export type OnEvent = (threadId: ThreadId, fold: ThreadFold, event: ThreadEvent) => void;

/** With these an agent that hears channels begins or ends its work on people's messages. */
const WORK: ReadonlySet<string> = new Set(["turn_start", "turn_end", "delivery_update"]);

export class Projection {
  readonly #store: Store;
  readonly #calls = new Map<string, Calls>();
  /** Threads whose rows were looked at: what this process writes is right. */
  readonly #fitting = new Set<string>();
  /** The asks of threads whose rows are being made anew. */
  readonly #anew = new Map<string, AsksAnew>();

  readonly #onEvent: OnEvent;

  /** @param onEvent is told each event that is new, once it is stored, with what was true before it */
  constructor(store: Store, onEvent: OnEvent = () => {}) {
    this.#store = store;
    this.#onEvent = onEvent;
  }

  /**
   * Stores what the events say, all of it or nothing; each new one gets its place among all threads' events.
   * @param newFrom where the first new one may begin: those before it were stored before, and their rows are made again.
   * @param transcriptBytes where the next event begins. Without it nothing but the rows is stored: what the thread
   * came to before is shown until all of them are made.
   * @param isAnswered whether an ask that is open was answered, though no runner has read that yet; for rows that are
   * made again.
   * @returns what the transcript comes to now.
   */
  apply(
    threadId: ThreadId,
    {
      fold: before,
      events,
      transcriptBytes,
      newFrom = 0,
      isAnswered = () => false,
    }: {
      fold: ThreadFold;
      events: readonly PlacedEvent[];
      transcriptBytes?: number;
      newFrom?: number;
      isAnswered?: (requestId: string, fold: ThreadFold) => boolean;
    },
  ): ThreadFold {
    const { agents, steps, asks, events: all } = this.#store;
    const anew = this.#anew.get(threadId)?.begin();
    const rows = anew ?? askRows(asks, threadId);
    const seen: [ThreadFold, ThreadEvent][] = [];
    const after = this.#store.transaction(() => {
      let fold = before;
      for (const { event, byte, bytes } of events) {
        const step = stepOf(event);
        const folded = foldEvent(fold, event);
        const isEnd = event.type === "turn_end";
        const usd = isEnd ? folded.totals.spendUsd - fold.totals.spendUsd : undefined;
        if (step) steps.set(threadId, event.seq, step, usd);
        this.#applyAsk(rows, threadId, fold, event);
        if (byte >= newFrom) {
          all.add(threadId, event.type, { byte, bytes }, causesOf(folded, event));
          seen.push([fold, event]);
          if (folded.voice && WORK.has(event.type)) this.#store.spoken.tell();
          if (event.type === "voice_unanswered") this.#tellUnanswered(threadId, fold, event);
        }
        fold = folded;
      }
      if (transcriptBytes === undefined) return fold;
      anew?.end((requestId) => isAnswered(requestId, fold));
      const status = statusOf(fold);
      const progress = { status, awaiting: awaitingOf(fold), turnCount: fold.turnCount, transcriptBytes };
      agents.setProgress({ threadId, ...progress, fold });
      return fold;
    });
    anew?.made();
    if (transcriptBytes !== undefined) this.#anew.delete(threadId);
    for (const [fold, event] of seen) this.#onEvent(threadId, fold, event);
    return after;
  }

  /**
   * Whether the rows are those of the transcript that comes to `fold` at `transcriptBytes`: an older version's, lost
   * ones, or those that were being made anew when a sidecar died, are not.
   */
  fits(threadId: ThreadId, fold: ThreadFold, transcriptBytes: number): boolean {
    if (this.#fitting.has(threadId)) return true;
    const { steps, asks } = this.#store;
    const isCutOff = transcriptBytes > 0 && fold.seq === 0;
    const hasSteps = fold.turnCount === 0 || steps.list(threadId, { afterSeq: 0, limit: 1 }).length > 0;
    const fits =
      !isCutOff &&
      fold.v === FOLD_VERSION &&
      hasSteps &&
      fold.asks.every(({ requestId }) => asks.find(threadId, requestId) !== undefined);
    if (fits) this.#fitting.add(threadId);
    return fits;
  }

  /** Begins to make the rows anew. @returns what an empty transcript comes to. */
  reset(threadId: ThreadId): ThreadFold {
    const { agents, asks } = this.#store;
    const fold = emptyFold();
    this.forget(threadId);
    agents.setFold(threadId, fold); // a sidecar that finds it with a transcript begins once more
    this.#anew.set(threadId, new AsksAnew(asks, threadId));
    this.#fitting.add(threadId);
    return fold;
  }

  /** Removes some of the steps. @returns whether there were any */
  removeSome(threadId: ThreadId): boolean {
    return this.#store.steps.removeSome(threadId);
  }

  /**
   * Makes known the calls that run, whose asks may still come: an earlier process read them, and only an ask's row
   * holds its call.
   */
  recall(
    threadId: ThreadId,
    fold: ThreadFold,
    find: (toolCallIds: string[]) => EventOf<"tool_call">[],
  ): void {
    if (this.#calls.has(threadId) || fold.toolCalls.length === 0) return;
    const calls = this.#callsOf(threadId);
    for (const call of find(fold.toolCalls.map(({ toolCallId }) => toolCallId)))
      calls.set(call.toolCallId, call);
  }

  forget(threadId: ThreadId): void {
    this.#fitting.delete(threadId);
    this.#anew.delete(threadId);
    this.#calls.delete(threadId);
  }

  /** One line of ours below each message; the bot says it as it says what the agent wants said. */
  #tellUnanswered(threadId: ThreadId, { voice }: ThreadFold, event: EventOf<"voice_unanswered">): void {
    for (const { messageId, channelId } of voice?.owed ?? []) {
      if (!event.messageIds.includes(messageId)) continue;
      this.#store.spoken.add({
        ...{ threadId, callId: `unanswered-${messageId}`, turn: "unanswered", address: null },
        ...{ channelId, replyTo: findDiscordMessage(messageId) },
        ...{ text: UNANSWERED, files: [], isSilent: true, createdAt: Date.parse(event.ts) },
      });
    }
  }

  #applyAsk(asks: AskRows, threadId: ThreadId, fold: ThreadFold, event: ThreadEvent): void {
    switch (event.type) {
      case "tool_call":
        this.#callsOf(threadId).set(event.toolCallId, event);
        return;
      case "turn_end":
        this.#calls.delete(threadId);
        return;
      case "permission_request":
      case "elicitation_request": {
        if (event.replaces !== undefined) asks.setState(event.replaces, "ended");
        asks.add({
          threadId,
          requestId: event.requestId,
          kind:
            event.type === "elicitation_request"
              ? "question"
              : event.plan === undefined
                ? "permission"
                : "plan",
          askedAt: event.ts,
          title: event.type === "elicitation_request" ? event.message : event.title,
          request: event,
          call: this.#callsOf(threadId).get(event.toolCallId) ?? null,
        });
        return;
      }
      case "permission_response":
      case "elicitation_response": {
        const ask = findAsk(fold, event.requestId);
        if (ask?.memoryWriteId !== undefined) this.#decideWrite(ask.memoryWriteId, event);
        const requestId = ask?.requestId ?? event.requestId;
        asks.setState(requestId, isDecided(event) ? "answered" : "ended");
        return;
      }
      default:
        return;
    }
  }

  /** In the same transaction: who applies it finds it decided. */
  #decideWrite(
    writeId: string,
    event: EventOf<"permission_response"> | EventOf<"elicitation_response">,
  ): void {
    const isLetIn = event.type === "permission_response" && event.optionId === LET_IN_OPTION;
    this.#store.memoryWrites.decide(writeId, isLetIn && event.outcome === "selected", event.by ?? null);
  }

  #callsOf(threadId: ThreadId): Calls {
    const calls = this.#calls.get(threadId) ?? new Map();
    this.#calls.set(threadId, calls);
    return calls;
  }
}

/** The jobs that led to an event. Those of a message are its own, whatever the thread has done before. */
function causesOf(after: ThreadFold, event: ThreadEvent): readonly string[] {
  return event.type === "user_message" ? (event.causes ?? []) : causesNow(after);
}

/** Somebody has answered; otherwise the ask was withdrawn, or its time was over. */
function isDecided(event: EventOf<"permission_response"> | EventOf<"elicitation_response">): boolean {
  return event.type === "permission_response" ? event.outcome === "selected" : event.action !== "cancel";
}
