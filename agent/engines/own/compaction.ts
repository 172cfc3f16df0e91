/** Makes the conversation shorter: the model sums up what is old, and the newest stays as it is. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Answers } from "./answer.ts";
import type { History, Item } from "./history.ts";
import type { Output } from "./output.ts";
import type { Chosen } from "./providers.ts";
import type { Turn } from "./turn.ts";

/** The share of its context at which the conversation is made shorter unasked. */
const FULL = 0.8;
/**
 * Largest part of the context's length that an automatic compaction may leave; with more, the next one would soon be
 * due.
 */
const LEFT = 0.7;
/** After one that came to nothing, so many more things are said before the next. */
const PAUSE_ITEMS = 4;

export class Compaction {
  readonly #history: History;
  readonly #output: Output;
  readonly #answers: Answers;
  readonly #maxTokens: number;

  /** @param maxTokens begins one at the latest */
  constructor(history: History, output: Output, answers: Answers, maxTokens = Number.POSITIVE_INFINITY) {
    this.#maxTokens = maxTokens;
    this.#history = history;
    this.#output = output;
    this.#answers = answers;
  }

  /** The conversation fills so much of the model's context that it is time. */
  get isDue(): boolean {
    const { context, items, compaction } = this.#history;
    const { usedTokens, sizeTokens } = context;
    const isFull = sizeTokens > 0 && usedTokens > Math.min(FULL * sizeTokens, this.#maxTokens);
    const { vainAt } = compaction;
    const mayBe = vainAt === undefined || items.length >= vainAt + PAUSE_ITEMS;
    return isFull && mayBe && findCut(items) !== undefined;
  }

  /** @returns whether it is shorter now */
  async run(trigger: "manual" | "auto", how: { chosen: Chosen; turn: Turn; hint?: string | undefined }) {
    const { context, items } = this.#history;
    const tokensBefore = context.usedTokens;
    const cut = findCut(items);
    this.#tell({ status: "in_progress", trigger, tokensBefore });
    const failed = (error: string) => {
      this.#tell({ status: "failed", trigger, error });
      return false;
    };
    if (cut === undefined) return failed("there is nothing to make shorter");
    const old = items.slice(0, items.indexOf(cut));
    const [length, kept] = [this.#lengthOf(items), this.#lengthOf(items.slice(old.length), "")];
    const maxLength = trigger === "auto" ? LEFT * length : length;
    if (kept >= maxLength) return failed("the newest message and what followed are nearly all of it");
    const { chosen, turn, hint } = how;
    const asked = {
      kind: "compact" as const,
      title: "Compacting the conversation",
      hint,
      signal: turn.signal,
    };
    const answered = await this.#answers.next(chosen, asked, (price, usage) => turn.spend(price, usage));
    if (answered.is === "stopped") return failed("it was stopped");
    if (answered.is === "failed") return failed(answered.fault.sentence);
    const { text: summary, usage } = answered;
    if (summary.trim() === "") return failed("the model gave no summary");
    if (summary.length >= this.#lengthOf(old)) return failed("the summary is longer than what it sums up");
    if (kept + summary.length > maxLength) return failed("the summary is nearly as long as what it sums up");
    const tokensAfter = usage?.outputTokens;
    this.#tell({
      ...{ status: "completed", trigger, tokensBefore, summary, keptFrom: cut.id },
      ...(tokensAfter !== undefined && { tokensAfter }),
    });
    return true;
  }

  /** A process died in the midst of one: it is done again when it is due. */
  giveUp(): void {
    this.#tell({ status: "failed", error: "the session was restarted" });
  }

  #tell(update: Omit<EventBody<"compaction_update">, "type">): void {
    this.#output.say({ events: [{ type: "compaction_update", ...update }] });
  }

  /** Counts the characters of these items and of the summary in front of them. */
  #lengthOf(items: readonly Item[], summary = this.#history.summary ?? ""): number {
    const { calls } = this.#history;
    const ofCall = (callId: string) => JSON.stringify(calls.get(callId) ?? "").length;
    const lengths = items.flatMap((item) =>
      item.kind === "said"
        ? item.parts.map((part) => (part.type === "text" ? part.text.length : 1_000))
        : item.pieces.map((piece) => (piece.type === "call" ? ofCall(piece.callId) : piece.text.length)),
    );
    return lengths.reduce((sum, length) => sum + length, summary.length);
  }
}

/**
 * From here on all is kept: from the newest that people said, or of one long turn from its newest answer. The results of
 * its calls belong to an answer, so they are never parted from it.
 */
function findCut(items: readonly Item[]): Item | undefined {
  const said = items.findLastIndex(({ kind }) => kind === "said");
  if (said > 0) return items[said];
  return items.length > 2 ? items.at(-1) : undefined;
}
