/** Looks at channels at Discord: what each is called, and why the bot can't serve one. */
import { Routes } from "discord.js";
import type { ChannelPlace } from "../../shared/channel-api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import { clip } from "../../shared/clip.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { DiscordApi } from "./api.ts";
import { guildSchema, memberSchema, missingPermissions, permissionsIn, placeSchema } from "./permissions.ts";
import { findRefusal } from "./refusals.ts";

/** Text channels, and those of announcements: messages and public threads. */
const TEXT_CHANNELS = [0, 5];
/** Without one of these nothing can be served. */
const NEEDED = [
  ...["View Channel", "Send Messages", "Create Public Threads", "Send Messages in Threads"],
  "Read Message History",
];
const MAX_NAME = 100;

export interface Seen extends ChannelPlace {
  /** Its threads can't be looked up: it is gone, or out of the bot's sight. */
  isLost: boolean;
  /** The channel no longer exists at Discord. */
  isGone: boolean;
}

/** Looks that were begun together: server and roles are asked for once. */
export class ChannelLooks {
  readonly #api: DiscordApi;
  readonly #guildId: string;
  readonly #botId: string;
  #own:
    | Promise<Parameters<typeof permissionsIn>[1] & { bot: Parameters<typeof permissionsIn>[2] }>
    | undefined;

  constructor({ api, guildId, botId }: { api: DiscordApi; guildId: string; botId: string }) {
    this.#api = api;
    this.#guildId = guildId;
    this.#botId = botId;
  }

  /** @throws what Discord fails with; a refusal is what was seen */
  async look(channelId: DiscordId): Promise<Seen> {
    const lost = (problem: string, isGone: boolean) => ({ name: null, problem, isLost: true, isGone });
    try {
      const place = await this.#api.read(placeSchema, Routes.channel(channelId));
      const name = place.name ? clip(cleanLine(place.name), MAX_NAME) : null;
      const seen = (problem: string | null) => ({ name, problem, isLost: false, isGone: false });
      if (place.guild_id !== this.#guildId) return seen("It is of another server than the first channel.");
      if (!TEXT_CHANNELS.includes(place.type)) return seen("It is no text channel.");
      this.#own ??= this.#lookAtSelf();
      const { bot, ...guild } = await this.#own;
      const missing = missingPermissions(permissionsIn(place, guild, bot)).filter((one) =>
        NEEDED.includes(one),
      );
      return seen(missingText(missing));
    } catch (error) {
      const refusal = findRefusal(error);
      if (refusal === "unknown channel") return lost("Discord has no such channel, or not any more.", true);
      if (refusal === "forbidden") return lost("I may not see it: give me View Channel there.", false);
      throw error;
    }
  }

  async #lookAtSelf() {
    const [guild, member] = await Promise.all([
      this.#api.read(guildSchema, Routes.guild(this.#guildId)),
      this.#api.read(memberSchema, Routes.guildMember(this.#guildId, this.#botId)),
    ]);
    return { ...guild, bot: { id: this.#botId, roles: member.roles } };
  }
}

/** What the bot lacks in a channel, as a sentence; null if it is nothing that is needed there. */
export function missingText(missing: readonly string[]): string | null {
  const needed = missing.filter((one) => NEEDED.includes(one));
  return needed.length === 0 ? null : `I lack ${needed.join(", ")} there.`;
}
