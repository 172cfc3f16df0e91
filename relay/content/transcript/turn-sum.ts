/** What a turn has used, all its pieces together: one that was cut off, or stopped at a limit, is taken up again. */
import type { EventOf, ThreadEvent } from "../../../shared/agent/events.ts";

interface Used {
  steps: number;
  durationMs: number | undefined;
  tokens: number | undefined;
  costUsd: number | undefined;
}

const NOTHING: Used = { steps: 0, durationMs: undefined, tokens: undefined, costUsd: undefined };

export class TurnSum {
  /** Where its first piece began; undefined if no turn runs that could go on. */
  #since: number | undefined;
  #before: Used = NOTHING;
  #piece: Used = NOTHING;

  get since(): number | undefined {
    return this.#since;
  }

  /** The end of a piece that is cut off does not tell what it used: its calls of the model did. */
  note(event: ThreadEvent): void {
    if (event.type === "turn_start") this.#begin(event);
    else if (event.type === "spend_update") this.#piece = { ...this.#piece, costUsd: event.cost.amount };
    else if (event.type === "step_end" && event.usage)
      this.#piece = { ...this.#piece, tokens: sum(this.#piece.tokens, tokensOf(event)) };
  }

  #begin({ cause, seq }: EventOf<"turn_start">): void {
    this.#piece = NOTHING;
    if (cause !== "resume") this.#before = NOTHING;
    if (cause !== "resume" || this.#since === undefined) this.#since = seq;
  }

  countStep(): void {
    this.#piece = { ...this.#piece, steps: this.#piece.steps + 1 };
  }

  /** @returns what the turn has used so far. */
  end(event: EventOf<"turn_end">): Used {
    const { steps, tokens, costUsd } = this.#piece;
    const used: Used = {
      steps: this.#before.steps + steps,
      durationMs: sum(this.#before.durationMs, event.durationMs),
      tokens: sum(this.#before.tokens, tokensOf(event) ?? tokens),
      costUsd: sum(this.#before.costUsd, event.cost?.amount ?? costUsd),
    };
    this.#piece = NOTHING;
    this.#before = event.stopReason === "interrupted" ? used : NOTHING;
    if (event.stopReason !== "interrupted") this.#since = undefined;
    return used;
  }
}

function tokensOf({ usage }: EventOf<"step_end"> | EventOf<"turn_end">): number | undefined {
  return usage && usage.inputTokens + usage.outputTokens;
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}
