/** Tells the sidecar who may use the bot, what they are called, and which channel the relay's settings name. */
import type { FixedChannel } from "../../shared/channel-api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { clip } from "../../shared/clip.ts";
import type { Log } from "../../shared/log.ts";
import { MAX_HANDLE, type ToldPerson } from "../../shared/people-api.ts";

export interface WhoMayOptions {
  client: Pick<SidecarClient, "putPeople" | "putFixedChannels">;
  /** The people that the relay's settings name. */
  people: readonly ToldPerson[];
  channel: FixedChannel;
  log: Log;
}

export class WhoMay {
  readonly #options: WhoMayOptions;
  /** The names in Discord of those who have acted since the relay's start. The sidecar keeps the others' as they were. */
  readonly #handles = new Map<string, string>();

  constructor(options: WhoMayOptions) {
    this.#options = options;
  }

  /** Says all of it: the same again changes nothing. */
  async tell(): Promise<void> {
    await this.#tellPeople();
    await this.#options.client.putFixedChannels([this.#options.channel]);
  }

  /** Somebody acts. A name that is news is told at once; if that fails, when they act again. */
  note(discordId: string, name: string): void {
    const handle = clip(cleanLine(name).trim(), MAX_HANDLE);
    const { people } = this.#options;
    if (handle === "" || !people.some(({ kind, id }) => kind === "user" && id === discordId)) return;
    if (this.#handles.get(discordId) === handle) return;
    this.#handles.set(discordId, handle);
    this.#tellPeople().catch((error: unknown) => {
      this.#handles.delete(discordId);
      this.#options.log.warn({ err: error }, "could not tell the sidecar what somebody is called");
    });
  }

  #tellPeople(): Promise<void> {
    const people = this.#options.people.map((one) => {
      const handle = one.kind === "user" ? this.#handles.get(one.id) : undefined;
      return { ...one, ...(handle === undefined ? {} : { handle }) };
    });
    return this.#options.client.putPeople(people);
  }
}
