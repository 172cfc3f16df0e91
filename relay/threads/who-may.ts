/** Tells the sidecar who may use the bot, what they are called, the server's roles, and which channel the settings name. */
import type { FixedChannel } from "../../shared/channel-api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { clip } from "../../shared/clip.ts";
import type { Log } from "../../shared/log.ts";
import { MAX_HANDLE, MAX_PEOPLE, type ToldPerson } from "../../shared/people-api.ts";
import type { ServerRoles } from "./server-roles.ts";

export interface WhoMayOptions {
  client: Pick<SidecarClient, "putPeople" | "putFixedChannels">;
  /** The people that the relay's settings name. */
  people: readonly ToldPerson[];
  channel: FixedChannel;
  serverRoles: Pick<ServerRoles, "tell">;
  log: Log;
}

export class WhoMay {
  readonly #options: WhoMayOptions;
  /** The names in Discord of those who acted last, the newest last. */
  readonly #handles = new Map<string, string>();

  constructor(options: WhoMayOptions) {
    this.#options = options;
  }

  /** Says all of it: the same again changes nothing. */
  async tell(): Promise<void> {
    await this.#tellPeople(this.#handles);
    await this.#options.serverRoles.tell();
    await this.#options.client.putFixedChannels([this.#options.channel]);
  }

  /** Somebody who has a role acts. A name that is news is told at once; if that fails, when they act again. */
  note(discordId: string, name: string): void {
    const handle = clip(cleanLine(name).trim(), MAX_HANDLE);
    if (handle === "" || this.#handles.get(discordId) === handle) return;
    this.#handles.delete(discordId);
    this.#handles.set(discordId, handle);
    const [oldest] = this.#handles.keys();
    if (this.#handles.size > MAX_PEOPLE && oldest !== undefined) this.#handles.delete(oldest);
    this.#tellPeople([[discordId, handle]]).catch((error: unknown) => {
      this.#handles.delete(discordId);
      this.#options.log.warn({ err: error }, "could not tell the sidecar what somebody is called");
    });
  }

  /** @param names of people, by their ids; the sidecar keeps the others' as they were */
  #tellPeople(names: Iterable<[string, string]>): Promise<void> {
    const handles = [...names].map(([id, handle]) => ({ id, handle }));
    return this.#options.client.putPeople([...this.#options.people], handles);
  }
}
