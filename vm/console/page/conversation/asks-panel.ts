/** The asks that wait for a person, above the line to write in; each shows what became of it. */
import type { AnswerRequest, AskReply } from "../../../../shared/agent/api.ts";
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { writeOutHidden } from "../../../../shared/clean-text.ts";
import { ApiError, answerAsk, listAsks } from "../api.ts";
import { errorText, find, make, makeButton } from "../dom.ts";
import { drawCard } from "./ask-card.ts";
import { describeDecision, type Response } from "./decision.ts";

interface Card {
  ask: AskReply;
  element: HTMLElement;
  /** Where it says how the pressing went. */
  note: HTMLElement;
  /** Once it is: what was decided, and by whom. */
  decision: string | undefined;
}

export interface AsksPanelOptions {
  threadId: string;
  /** For people who hear the page. */
  onSay: (text: string) => void;
  onChange: (openCount: number) => void;
}

/** What was decided stays to be read for so long. */
const DECIDED_MS = 20_000;
const RETRY_MS = 2_000;
const SENDING = "Sending …";

export class AsksPanel {
  readonly #options: AsksPanelOptions;
  readonly #holder = find("#asks");
  /** By request, the oldest first. */
  readonly #cards = new Map<string, Card>();
  /** Decisions that were read; the list of asks may be older than they are. */
  readonly #decided = new Map<string, Response>();
  #timers = new Set<number>();
  #isLoading = false;
  #isStale = false;
  #isClosed = false;

  constructor(options: AsksPanelOptions) {
    this.#options = options;
    this.#holder.replaceChildren();
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) window.clearTimeout(timer);
    this.#holder.replaceChildren();
  }

  /** What was written since: a decision is shown at once, wherever it was made. */
  read(events: readonly ThreadEvent[]): void {
    for (const event of events) {
      if (event.type !== "permission_response" && event.type !== "elicitation_response") continue;
      this.#decided.set(event.requestId, event);
      const card = this.#cards.get(event.requestId);
      if (card) this.#settle(card, describeDecision(card.ask.request, event));
    }
  }

  /** Reads anew which asks are open. */
  async refresh(): Promise<void> {
    this.#isStale = true;
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      while (this.#isStale && !this.#isClosed) {
        this.#isStale = false;
        const asks = await listAsks(this.#options.threadId);
        if (!this.#isClosed) this.#show(asks);
      }
    } catch (error) {
      // Without an answer the news fail too, and say so; they call again. A refusal is worth another try.
      if (!(error instanceof ApiError && (error.status === 0 || error.status === 401))) {
        this.#later(RETRY_MS, () => void this.refresh());
      }
    }
    this.#isLoading = false;
  }

  #show(asks: readonly AskReply[]): void {
    for (const ask of asks) {
      const { requestId } = ask;
      const isDecided = this.#decided.has(requestId);
      if (!isDecided && !this.#cards.has(requestId)) this.#add(ask);
    }
    // Gone without a word: its answer lies in the inbox, and nobody has read it yet.
    for (const card of this.#cards.values()) {
      const isOpen = asks.some(({ requestId }) => requestId === card.ask.requestId);
      if (!isOpen && card.decision === undefined) this.#pend(card);
    }
    this.#options.onChange(this.#openCount);
  }

  get #openCount(): number {
    return [...this.#cards.values()].filter(({ decision }) => decision === undefined).length;
  }

  #add(ask: AskReply): void {
    const { request, requestId } = ask;
    const replaced = request.replaces === undefined ? undefined : this.#cards.get(request.replaces);
    if (replaced) this.#remove(replaced);
    const note = make("p", "note");
    note.setAttribute("role", "status");
    const element = make("section", `ask ${ask.kind}`);
    element.setAttribute("aria-label", "The agent asks");
    const card: Card = { ask, element, note, decision: undefined };
    element.append(...drawCard({ ask, onAnswer: (answer) => void this.#answer(card, answer) }), note);
    this.#cards.set(requestId, card);
    this.#holder.append(element);
    this.#options.onSay(`The agent asks: ${ask.title}`);
  }

  async #answer(card: Card, answer: AnswerRequest): Promise<void> {
    const { threadId } = this.#options;
    setBusy(card, true);
    card.note.textContent = SENDING;
    try {
      await answerAsk(threadId, card.ask.requestId, answer);
      this.#pend(card);
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if (card.decision !== undefined) return;
      card.note.textContent = errorText(error);
      // Somebody else was faster, or it is not asked any more: what was decided follows.
      if (status === 409 || status === 410) void this.refresh();
      else setBusy(card, false);
    }
  }

  /** It is answered, and the agent has not read the answer yet. */
  #pend(card: Card): void {
    if (card.decision !== undefined) return;
    setBusy(card, true);
    // A sentence of the sidecar's, that somebody else was faster, says more.
    if (["", SENDING].includes(card.note.textContent ?? "")) {
      card.note.textContent = "Answered; the agent has not read it yet.";
    }
  }

  #settle(card: Card, decision: string): void {
    // One at a time: the transcript has them all.
    for (const other of [...this.#cards.values()]) if (other.decision !== undefined) this.#remove(other);
    card.decision = decision;
    card.element.classList.add("decided");
    const title = make("span", "", [writeOutHidden(card.ask.title)]);
    const close = makeButton("Close", () => this.#remove(card), "small");
    card.element.replaceChildren(make("p", "what", [title]), make("p", "decision", [decision]), close);
    this.#options.onSay(decision);
    this.#options.onChange(this.#openCount);
    this.#later(DECIDED_MS, () => this.#remove(card));
  }

  #remove(card: Card): void {
    card.element.remove();
    this.#cards.delete(card.ask.requestId);
    this.#options.onChange(this.#openCount);
  }

  #later(ms: number, run: () => void): void {
    const timer = window.setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }
}

function setBusy({ element }: Card, isBusy: boolean): void {
  for (const control of element.querySelectorAll<HTMLButtonElement | HTMLInputElement>(
    ".choices button, input",
  )) {
    control.disabled = isBusy;
  }
}
