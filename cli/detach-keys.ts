/** Watches what a person types for the keys that leave a thread; everything else goes on to the program. */
import { AppError } from "../shared/errors.ts";

export const DEFAULT_DETACH_KEYS = "C-b d";

/**
 * `C-b d`, `C-]`, `~ .`: keys separated by spaces, each a character or `C-` and one.
 * @throws AppError `invalid_request`
 */
export function parseDetachKeys(text: string): Uint8Array {
  const keys = text.split(" ").filter((key) => key !== "");
  const bytes = keys.map((key) => {
    const control = /^(?:C-|\^)([@-_a-z])$/.exec(key)?.[1];
    if (control !== undefined) return control.toUpperCase().charCodeAt(0) & 0x1f;
    if (/^[!-~]$/.test(key)) return key.charCodeAt(0);
    throw new AppError(
      "invalid_request",
      `--detach-keys: ${JSON.stringify(key)} is no key; write them as C-b d, C-], ~ .`,
    );
  });
  if (bytes.length === 0) throw new AppError("invalid_request", "--detach-keys: must name at least one key");
  return Uint8Array.from(bytes);
}

export class DetachKeys {
  readonly #keys: Uint8Array;
  #matched = 0;

  constructor(keys: Uint8Array) {
    this.#keys = keys;
  }

  /**
   * What of `typed` goes on. The first keys of an unfinished sequence wait for the next key; the first key twice
   * gives it once, as in tmux.
   */
  push(typed: Uint8Array): { forward: Uint8Array; isDetach: boolean } {
    const forward: number[] = [];
    for (const byte of typed) {
      if (byte === this.#keys[this.#matched]) {
        this.#matched += 1;
        if (this.#matched < this.#keys.length) continue;
        this.#matched = 0;
        return { forward: Uint8Array.from(forward), isDetach: true };
      }
      const isFirstTwice = this.#matched === 1 && byte === this.#keys[0];
      for (let i = 0; i < this.#matched; i++) forward.push(this.#keys[i] ?? 0);
      this.#matched = 0;
      if (isFirstTwice) continue;
      if (byte === this.#keys[0]) this.#matched = 1;
      else forward.push(byte);
    }
    return { forward: Uint8Array.from(forward), isDetach: false };
  }
}
