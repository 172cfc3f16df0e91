/** A turn of the agent that runs: what it has taken, and whether it takes more. */
export class Turn {
  readonly startedMs = Date.now();
  readonly ids: string[] = [];
  /** It was told to stop. */
  isCancelled = false;
  /** It has refused a message: the others wait for its end. */
  isFull = false;
  /** Prompts without an answer. */
  #prompts = 0;
  #timer: NodeJS.Timeout | undefined;

  get takesMore(): boolean {
    return !this.isCancelled && !this.isFull;
  }

  begin(ids: readonly string[]): void {
    this.ids.push(...ids);
    this.#prompts += 1;
  }

  /** A prompt has its answer. @returns whether it was the last one */
  answer(): boolean {
    this.#prompts -= 1;
    return this.#prompts === 0;
  }

  /** @param onDeaf is called if the turn does not end in so many milliseconds */
  cancel(afterMs: number, onDeaf: () => void): void {
    this.isCancelled = true;
    this.#timer ??= setTimeout(onDeaf, afterMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
