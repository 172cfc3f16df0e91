/** Files of people's messages, from Discord's own servers and no others: a link is not followed wherever it leads. */
import { AppError } from "../../shared/errors.ts";
import { readAtMost } from "../../shared/read-at-most.ts";
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
      // The size that a message tells of its file is not relied on.
      const bytes = await readAtMost(response.body, maxBytes);
      if (!bytes) throw new AppError("too_large", `${filename} is larger than it said.`);
      return bytes;
    } catch (error) {
      throw error instanceof AppError ? error : refuse(error);
    }
  }
}
