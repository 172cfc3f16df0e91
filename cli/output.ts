/** Standard output and standard error: written with back-pressure, and what may be shown on them. */
import { once } from "node:events";
import type { WriteStream } from "node:tty";

export class Output {
  readonly #stream: WriteStream;
  /** Whether SGR colours may be used. */
  readonly hasColor: boolean;

  constructor(stream: WriteStream, env: Record<string, string | undefined>) {
    this.#stream = stream;
    this.hasColor = this.isTty && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  }

  get isTty(): boolean {
    return this.#stream.isTTY === true;
  }

  get columns(): number {
    return this.#stream.columns || 80;
  }

  get rows(): number {
    return this.#stream.rows || 24;
  }

  /** Resolves when the stream takes more: whoever awaits it holds no more than the stream's own buffer. */
  async write(data: string | Uint8Array): Promise<void> {
    if (data.length === 0 || this.#stream.write(data)) return;
    // A stream that breaks is main's affair: of standard output it ends us, of standard error nobody is to be told.
    await once(this.#stream, "drain").catch(() => undefined);
  }

  async line(text: string): Promise<void> {
    await this.write(`${text}\n`);
  }

  async json(value: unknown): Promise<void> {
    await this.line(toJson(value));
  }
}

/** JSON on one line without a single control character: also those that JSON itself allows are escaped. */
export function toJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
