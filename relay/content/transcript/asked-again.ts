/**
 * Asks that an engine asks again because it died before it heard the answer. Each of them is one entry, whatever turn
 * it is asked in. Pure but for what it changes in the asks.
 */
import type { EventOf } from "../../../shared/agent/events.ts";
import { endsAnswers } from "../../../shared/agent/fold-asks.ts";
import type { Ask, Entry } from "./entries.ts";

type Response = NonNullable<Ask["response"]>;

export function openRequests(entries: readonly Entry[]): Ask["request"][] {
  return entries.flatMap((entry) => (entry.kind === "ask" && !entry.response ? [entry.request] : []));
}

/** The asks that are still told, by their newest request: of two with one id the older one counts. */
export class Asks {
  readonly #asks = new Map<string, Ask>();
  /** They are answered, and may be asked again; by their call. */
  readonly #answered = new Map<string, Set<Ask>>();

  add(ask: Ask): void {
    if (!this.#asks.has(ask.requestId)) this.#asks.set(ask.requestId, ask);
  }

  find(requestId: string): Ask | undefined {
    return this.#asks.get(requestId);
  }

  forget(ask: Ask): void {
    if (this.#asks.get(ask.requestId) === ask) this.#asks.delete(ask.requestId);
    const { toolCallId } = ask.request;
    const answered = this.#answered.get(toolCallId);
    answered?.delete(ask);
    if (answered?.size === 0) this.#answered.delete(toolCallId);
  }

  answer(response: Response): void {
    const ask = this.#asks.get(response.requestId);
    if (!ask) return;
    ask.decidedBy = response.by ?? ask.decidedBy;
    ask.response = { ...response, by: ask.decidedBy };
    ask.mayComeBack = isRecorded(ask.request, response);
    if (!ask.mayComeBack) return;
    const { toolCallId } = ask.request;
    this.#answered.set(toolCallId, (this.#answered.get(toolCallId) ?? new Set()).add(ask));
  }

  /** A call has ended, or a turn: its asks are not asked again. */
  end(event: EventOf<"tool_call_update"> | EventOf<"turn_end">): void {
    if (!endsAnswers(event)) return;
    const calls = event.type === "turn_end" ? [...this.#answered.keys()] : [event.toolCallId];
    for (const toolCallId of calls) {
      for (const ask of this.#answered.get(toolCallId) ?? []) ask.mayComeBack = false;
      this.#answered.delete(toolCallId);
    }
  }
}

/** As the fold records answers: those that a call of the engine waits for. */
function isRecorded(request: Ask["request"], response: Response): boolean {
  if (response.type === "elicitation_response") return response.action !== "cancel";
  if (request.type !== "permission_request" || isBeside(request)) return false;
  return response.outcome === "selected" && !request.limit && !request.trust;
}

/** No call of the engine waits for it. */
function isBeside({ heldMessageId, memoryWriteId }: EventOf<"permission_request">): boolean {
  return heldMessageId !== undefined || memoryWriteId !== undefined;
}

/** Where asks were asked again: whoever reads from there on must read from their first time on. */
export class AskedAgain {
  #asked: { readonly seq: number; readonly since: number }[] = [];

  /** @param seq of the later request. @param since from where its ask is told. */
  note(seq: number, since: number): void {
    this.#asked.push({ seq, since });
  }

  /**
   * Forgets what lies before.
   * @returns the event from which all is told as it was, if it is to be told from `since` on.
   */
  reachBack(since: number): number {
    const reached = this.#asked.reduceRight(
      (from, ask) => (ask.seq < from ? from : Math.min(from, ask.since)),
      since,
    );
    this.#asked = this.#asked.filter(({ seq }) => seq >= reached);
    return reached;
  }
}
