/** Long work in short steps: between them the event loop has its turn. */
import { setImmediate } from "node:timers/promises";

const STEP_MS = 10;

export class Steps {
  #sinceMs = performance.now();

  /** To be called between pieces of work that take a few milliseconds at most. */
  async rest(): Promise<void> {
    if (performance.now() - this.#sinceMs < STEP_MS) return;
    await setImmediate();
    this.#sinceMs = performance.now();
  }
}
