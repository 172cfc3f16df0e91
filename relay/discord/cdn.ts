/** Files of people's messages, from Discord's own servers and no others: a link is not followed wherever it leads. */
import { AppError } from "../../shared/errors.ts";
import type { Attachment } from "./person-message.ts";

const DISCORD_API_HOST = /(^|\.)discord\.com$/;
const DISCORD_CDN = ["https://cdn.discordapp.com", "https://media.discordapp.net"];
const TIMEOUT_MS = 60_000;

export class Cdn {
  readonly #origins: ReadonlySet<string>;
  readonly #signal: AbortSignal;

  /** @param apiUrl Discord's API; a local Discord serves its files itself. */
  constructor(apiUrl: string, signal: AbortSignal) {
    const { hostname, origin } = new URL(apiUrl);
    this.#origins = new Set(DISCORD_API_HOST.test(hostname) ? DISCORD_CDN : [origin]);
    this.#signal = signal;
  }

  /** @throws AppError `too_large`, or `invalid_request` if it can't be had. */
  async download(
    { url, filename }: Pick<Attachment, "url" | "filename">,
    maxBytes: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const refuse = (cause: unknown) =>
      new AppError("invalid_request", `${filename} could not be fetched from Discord.`, { cause });
    if (!URL.canParse(url) || !this.#origins.has(new URL(url).origin))
      throw refuse(new Error("it does not lie with Discord"));
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const response = await fetch(url, { signal, redirect: "error" });
      if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
      return await readAtMost(response.body, maxBytes, filename);
    } catch (error) {
      throw error instanceof AppError ? error : refuse(error);
    }
  }
}

/** What a message says of a file's size is not relied on. */
async function readAtMost(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  filename: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AppError("too_large", `${filename} is larger than it said.`);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
