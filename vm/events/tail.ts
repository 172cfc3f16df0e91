/** The newest events, made once for all who read them. */
import type { Frame } from "./frames.ts";

export class Tail {
  readonly #maxBytes: number;
  readonly #frames: Frame[] = [];
  #bytes = 0;
  #from: number;
  #to: number;

  /** @param after the id after which all events will be in it */
  constructor(after: number, maxBytes: number) {
    this.#from = after;
    this.#to = after;
    this.#maxBytes = maxBytes;
  }

  /** The newest id that it knows of. */
  get end(): number {
    return this.#to;
  }

  /** Takes what comes next, and forgets the oldest if all are too large. */
  push(frames: readonly Frame[]): void {
    for (const frame of frames) {
      this.#frames.push(frame);
      this.#bytes += frame.bytes.length;
      this.#to = frame.id;
    }
    let forgotten = 0;
    for (const { id, bytes } of this.#frames) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#bytes -= bytes.length;
      this.#from = id;
      forgotten += 1;
    }
    this.#frames.splice(0, forgotten);
  }

  /** Whether all events after `id` are in it. */
  holds(id: number): boolean {
    return id >= this.#from;
  }

  /** Those after `id`, in order. */
  *after(id: number): Generator<Frame> {
    let low = 0;
    for (let high = this.#frames.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#frames[middle]?.id ?? 0) > id) high = middle;
      else low = middle + 1;
    }
    for (let index = low; index < this.#frames.length; index++) {
      const frame = this.#frames[index];
      if (frame) yield frame;
    }
  }
}
