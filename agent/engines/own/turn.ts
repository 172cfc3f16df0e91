/** A turn that runs in this process: what it has used so far, and whether the person has stopped it. */
import type { EventBody, EventOf } from "../../../shared/agent/events.ts";
import { addUsage } from "../../../shared/agent/fold-turns.ts";
import type { Usage } from "../../../shared/agent/values.ts";
import type { Price } from "./price.ts";

const MAX_ASKED = 2;

export class Turn {
  /** After the newest round of calls the runner has let the model be called, */
  isRoundOver = false;
  /** and this is what it is to be told first. */
  news: string | undefined;
  #askedForOutput = 0;
  readonly #turnId: string;
  readonly #stop = new AbortController();
  readonly #startedMs = performance.now();
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  /** Undefined once there was a call whose price nobody knows. */
  #usd: number | undefined = 0;

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** A model that gives no result is asked for it so often. */
  mayAskForOutput(): boolean {
    return ++this.#askedForOutput <= MAX_ASKED;
  }

  /** @returns what is told of it at once */
  spend({ usd }: Price, usage: Usage): EventBody[] {
    this.#usage = addUsage(this.#usage, usage);
    this.#usd = usd === undefined || this.#usd === undefined ? undefined : this.#usd + usd;
    return this.#usd === undefined
      ? []
      : [{ type: "spend_update", cost: { amount: this.#usd, currency: "USD" } }];
  }

  end(
    stopReason: EventOf<"turn_end">["stopReason"],
    error: string | undefined,
    more: Partial<Pick<EventOf<"turn_end">, "result" | "output">> = {},
  ): EventBody<"turn_end"> {
    const isUsed = this.#usage.inputTokens + this.#usage.outputTokens > 0;
    return {
      type: "turn_end",
      turnId: this.#turnId,
      stopReason,
      ...(error !== undefined && { error }),
      durationMs: Math.round(performance.now() - this.#startedMs),
      ...(isUsed && { usage: this.#usage }),
      ...(this.#usd !== undefined && { cost: { amount: this.#usd, currency: "USD" as const } }),
      ...more,
    };
  }
}
