/** Where an input of a thread that speaks with a tool comes from, as its agent is told. */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { type Principal, printAddress, printPrincipal } from "../../shared/principal.ts";
import type { Store } from "../store/store.ts";

/** The place of an inbox's line: who wrote it, and where. */
export interface Place {
  handle?: string;
  channelId?: DiscordId;
}

type Rows = Pick<Store, "handles" | "people" | "channels">;

export class Sources {
  readonly #store: Rows;

  constructor(store: Rows) {
    this.#store = store;
  }

  /**
   * @param config of the thread that gets the input
   * @param channelId in which a person wrote it
   * @returns nothing if the thread's own words are its voice
   * @throws AppError `invalid_request` if the input can't come from there
   */
  placeOf(agent: Pick<ThreadConfig["agent"], "voice"> | undefined, by: Principal, channelId?: string): Place {
    if (agent?.voice !== "message") {
      if (channelId === undefined) return {};
      throw invalid("is for threads with agent.voice message; this one has none.");
    }
    if (channelId === undefined) return { handle: this.handleOf(by) };
    if (by.kind !== "person") throw invalid("names where a person wrote; this is no person's input.");
    const row = this.#store.channels.find(channelId);
    if (!row) throw invalid(`${channelId} is none that is served.`);
    return { handle: this.#personIn(by.discordId, channelId), channelId: row.id };
  }

  channelHandle(channelId: string): string {
    const name = this.#store.channels.find(channelId)?.name;
    return this.#store.handles.take("channel", channelId, name);
  }

  /** Names who acts for others: a person by their handle. */
  handleOf(by: Principal): string {
    return by.kind === "person"
      ? printAddress({ person: this.personHandle(by.discordId) })
      : printPrincipal(by);
  }

  personHandle(discordId: string): string {
    return this.#store.handles.take("person", discordId, this.#store.people.handleOf(discordId));
  }

  #personIn(discordId: string, channelId: string): string {
    return printAddress({ channel: this.channelHandle(channelId), person: this.personHandle(discordId) });
  }
}

function invalid(why: string): AppError {
  return new AppError("invalid_request", `channelId: ${why}`);
}
