/** Keeps the bytes of a cut character back until the others come. */
import { countUnfinished } from "../streams/log-file.ts";

/**
 * A paste comes in pieces that may cut a character. tmux waits 10 ms for the rest of it (`escape-time`), then drops
 * what it has; on a busy machine the next piece comes later.
 */
export class WholeCharacters {
  #cut = Buffer.alloc(0);

  /** @returns what can be passed on now. */
  take(piece: Buffer): Buffer {
    const bytes = Buffer.concat([this.#cut, piece]);
    const whole = bytes.length - countUnfinished(bytes);
    this.#cut = bytes.subarray(whole);
    return bytes.subarray(0, whole);
  }
}
