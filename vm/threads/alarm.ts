/** A pause that can be made shorter. For one who waits at a time. */
export class Alarm {
  #ringAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #resolve: () => void = () => undefined;

  /** Resolves after `ms`, or sooner where {@link within} says so, also before this call. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.within(ms);
    });
  }

  /** It rings after `ms` at the latest. */
  within(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#ringAt) return;
    this.#ringAt = at;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.ring(), ms);
  }

  ring(): void {
    clearTimeout(this.#timer);
    this.#ringAt = Number.POSITIVE_INFINITY;
    this.#resolve();
  }
}
