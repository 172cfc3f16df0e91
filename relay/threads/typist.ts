/** Shows Discord's typing sign in channels in which an agent is at work on a person's message. */
import type { DiscordId } from "../../shared/ids.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { DiscordApi } from "../discord/api.ts";

/** Discord takes the sign away 10 s after it was asked for last. */
const AGAIN_MS = 8_000;

export interface TypistOptions {
  api: Pick<DiscordApi, "startTyping">;
  now: () => number;
  log: Log;
  signal: AbortSignal;
}

export class Typist {
  readonly #options: TypistOptions;
  /** When each channel's sign was asked for, in milliseconds since the epoch. */
  readonly #shown = new Map<DiscordId, number>();
  #isWaiting = false;

  constructor(options: TypistOptions) {
    this.#options = options;
  }

  /**
   * Shows the sign in these channels, where it is about to go or is not there. In the background: a channel that refuses
   * it is left without.
   * @param again is called once some seconds later, if there was a channel: whoever still works is then shown again
   */
  show(channelIds: readonly DiscordId[], again: () => void): void {
    const { api, now, log, signal } = this.#options;
    for (const id of this.#shown.keys()) if (!channelIds.includes(id)) this.#shown.delete(id);
    for (const channelId of channelIds) {
      if (now() - (this.#shown.get(channelId) ?? 0) < AGAIN_MS) continue;
      this.#shown.set(channelId, now());
      api.startTyping(channelId).catch((error: unknown) => {
        if (!signal.aborted) log.info({ channelId, err: error }, "could not show that an agent works");
      });
    }
    if (channelIds.length === 0 || this.#isWaiting) return;
    this.#isWaiting = true;
    void pause(AGAIN_MS, signal).then(() => {
      this.#isWaiting = false;
      if (!signal.aborted) again();
    });
  }
}
