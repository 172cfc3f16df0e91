/** A pause that anybody can shorten. Only one caller may wait at a time. */
export class Alarm {
  #ringAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #resolve: () => void = () => undefined;

  /** Resolves after `ms`, or sooner if {@link within} was called with less, even before this call. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.within(ms);
    });
  }

  /** Makes the alarm ring after `ms` at the latest. It never makes an alarm ring later than it would have. */
  within(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#ringAt) return;
    this.#ringAt = at;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.ring(), ms);
  }

  /** Ends the wait now. */
  ring(): void {
    clearTimeout(this.#timer);
    this.#ringAt = Number.POSITIVE_INFINITY;
    this.#resolve();
  }
}
