/** Looks at Discord with the bot's own token, by reading alone: no login, no message, no command is made. */
import { DiscordAPIError, REST, RESTEvents, Routes } from "discord.js";
import * as z from "zod";
import { Fault, type Finding, fault, type Look, note } from "../../shared/doctor.ts";
import { errorText } from "../../shared/errors.ts";
import type { RelayConfig } from "../config.ts";
import { keepWithinLimits } from "../discord/limits.ts";
import {
  guildSchema,
  memberSchema,
  missingPermissions,
  permissionsIn,
  placeSchema,
} from "../discord/permissions.ts";
import {
  findRefusal,
  findRetryAfterMs,
  findStartProblem,
  NO_CHANNEL,
  NO_MESSAGE_CONTENT,
  REFUSED_TOKEN,
} from "../discord/refusals.ts";

const REQUEST_MS = 10_000;
/** Messages are looked up from a minute before the clock's time on (`snowflakeNow`): a later clock would miss some. */
const MAX_SKEW_MS = 60_000;
/** Flags of an application that may read messages, in few servers or in many. */
const MESSAGE_CONTENT = (1 << 18) | (1 << 19);
const TEXT_CHANNELS = [0, 5];
const PORTAL = "https://discord.com/developers/applications";

const applicationSchema = z.object({ id: z.string(), flags: z.number().default(0) });
const gatewaySchema = z.object({
  session_start_limit: z.object({ total: z.number(), remaining: z.number(), reset_after: z.number() }),
});

type Place = z.infer<typeof placeSchema>;

/** Asked a few times; it ends with this program. */
function openRest({ discordApiUrl, discordToken }: RelayConfig): REST {
  const rest = new REST({
    api: discordApiUrl,
    timeout: REQUEST_MS,
    retries: 0,
    rejectOnRateLimit: ({ retryAfter }) => retryAfter > REQUEST_MS,
  }).setToken(discordToken);
  keepWithinLimits(rest);
  rest.clearHashSweeper();
  rest.clearHandlerSweeper();
  return rest;
}

export class DiscordLooks {
  readonly #config: RelayConfig;
  readonly #now: () => number;
  readonly #rest: REST;
  /** Discord's clock and ours at the last answer. */
  #times: { theirs: number; ours: number } | undefined;
  #botId: string | undefined;
  #place: Place | undefined;

  constructor(config: RelayConfig, now: () => number) {
    this.#config = config;
    this.#now = now;
    this.#rest = openRest(config);
    this.#rest.on(RESTEvents.Response, (_request, { headers }) => {
      const theirs = Date.parse(headers.get("date") ?? "");
      if (!Number.isNaN(theirs)) this.#times = { theirs, ours: this.#now() };
    });
  }

  looks(): Look[] {
    const invite = 'invite the bot again: README.md, "With the real Discord", step 3';
    return [
      { name: "Discord", mend: `curl -sv ${this.#config.discordApiUrl}/v10/gateway`, run: () => this.#bot() },
      { name: "intents", mend: PORTAL, run: () => this.#intents() },
      { name: "channel", mend: invite, run: () => this.#channel() },
      { name: "permissions", mend: invite, run: () => this.#permissions() },
      { name: "commands", mend: invite, run: () => this.#commands() },
      { name: "people", mend: "set ALLOWED_USER_IDS to ids of users", run: () => this.#people() },
      { name: "Discord's clock", mend: "timedatectl set-ntp true", run: () => this.#clock() },
    ];
  }

  async #bot(): Promise<string | Finding[]> {
    const me = await this.#get(Routes.user("@me"), z.object({ id: z.string(), username: z.string() }));
    this.#botId = me.id;
    const { session_start_limit: starts } = await this.#get(Routes.gatewayBot(), gatewaySchema);
    if (starts.remaining > 0) return `answers, and knows the bot as ${me.username}`;
    const minutes = Math.ceil(starts.reset_after / 60_000);
    const says = `the bot has logged in as often as Discord allows a day (${starts.total})`;
    throw new Fault(says, `wait ${minutes} minutes, and look why it starts so often: threadmux service logs`);
  }

  async #intents(): Promise<string | Finding[]> {
    if (this.#botId === undefined) return [];
    const { flags } = await this.#get(Routes.currentApplication(), applicationSchema);
    if ((flags & MESSAGE_CONTENT) === 0) throw new Fault(NO_MESSAGE_CONTENT, `switch it on: ${PORTAL}`);
    return "the bot may read messages";
  }

  async #channel(): Promise<string | Finding[]> {
    if (this.#botId === undefined) return [];
    const id = this.#config.channelId;
    const place = await this.#get(Routes.channel(id), placeSchema).catch((error: unknown) => {
      const refusal = findRefusal(error instanceof Fault ? error.cause : error);
      if (refusal === "unknown channel" || refusal === "forbidden") return undefined;
      throw error;
    });
    if (!place?.guild_id)
      throw new Fault(NO_CHANNEL, "set DISCORD_CHANNEL_ID (right-click the channel, Copy Channel ID)");
    if (!TEXT_CHANNELS.includes(place.type))
      throw new Fault(
        `DISCORD_CHANNEL_ID: #${place.name} is no text channel, so no thread can be made in it`,
        "set DISCORD_CHANNEL_ID to a text channel's id",
      );
    this.#place = place;
    return `#${place.name}`;
  }

  async #permissions(): Promise<string | Finding[]> {
    const [place, botId] = [this.#place, this.#botId];
    if (!place?.guild_id || botId === undefined) return [];
    const guild = await this.#get(Routes.guild(place.guild_id), guildSchema);
    const { roles } = await this.#get(Routes.guildMember(place.guild_id, botId), memberSchema);
    const missing = missingPermissions(permissionsIn(place, guild, { id: botId, roles }));
    if (missing.length === 0) return `all that it needs in #${place.name}`;
    throw new Fault(
      `in #${place.name} of ${guild.name} the bot lacks: ${missing.join(", ")}`,
      `Discord: channel settings of #${place.name} → Permissions → the bot → allow ${missing.join(", ")}`,
    );
  }

  async #commands(): Promise<string | Finding[]> {
    const [place, botId] = [this.#place, this.#botId];
    if (!place?.guild_id || botId === undefined) return [];
    const { id } = await this.#get(Routes.currentApplication(), applicationSchema);
    const route = Routes.applicationGuildCommands(id, place.guild_id);
    const commands = await this.#get(route, z.array(z.unknown()));
    if (commands.length > 0) return `${commands.length} are registered`;
    return [note("commands", "none are registered yet: the relay does it when it starts")];
  }

  async #people(): Promise<string | Finding[]> {
    const place = this.#place;
    if (!place?.guild_id) return [];
    const found: Finding[] = [];
    for (const userId of [...this.#config.allowedUserIds].slice(0, 20)) {
      const who = await this.#rest
        .get(Routes.guildMember(place.guild_id, userId))
        .catch((error: unknown) => error);
      if (!(who instanceof DiscordAPIError) || who.status !== 404) continue;
      const says = `ALLOWED_USER_IDS: ${userId} is nobody in this server`;
      found.push(fault("people", says, "set ALLOWED_USER_IDS (right-click the person, Copy User ID)"));
    }
    const { roles } = await this.#get(Routes.guild(place.guild_id), guildSchema);
    const named = this.#config.roles.filter(({ kind }) => kind === "role").map(({ id }) => id);
    for (const roleId of new Set(named)) {
      if (roles.some(({ id }) => id === roleId)) continue;
      const says = `ROLES: this server has no role ${roleId}`;
      found.push(fault("people", says, "set ROLES (Server Settings → Roles → ⋯ → Copy Role ID)"));
    }
    if (found.length > 0) return found;
    return `those in ALLOWED_USER_IDS are in this server${named.length > 0 ? ", and it has the roles in ROLES" : ""}`;
  }

  #clock(): string | Finding[] {
    if (!this.#times) return [];
    const skewMs = this.#times.ours - this.#times.theirs;
    if (Math.abs(skewMs) < MAX_SKEW_MS) return "this machine's agrees with it";
    const seconds = Math.round(Math.abs(skewMs) / 1_000);
    const says = `this machine's clock is ${seconds} s ${skewMs > 0 ? "ahead" : "behind"}`;
    throw new Fault(says, "timedatectl set-ntp true");
  }

  /** @throws Fault if Discord can't be reached, or will not say */
  async #get<S extends z.ZodType>(route: `/${string}`, schema: S): Promise<z.output<S>> {
    try {
      return schema.parse(await this.#rest.get(route));
    } catch (cause) {
      throw this.#explained(cause);
    }
  }

  #explained(cause: unknown): unknown {
    const waitMs = findRetryAfterMs(cause);
    if (waitMs !== undefined)
      return new Fault("Discord asks for a pause", `sleep ${Math.ceil(waitMs / 1_000)}; threadmux doctor`, {
        cause,
      });
    if (cause instanceof DiscordAPIError && cause.status === 401)
      return new Fault(REFUSED_TOKEN, `set DISCORD_TOKEN (${PORTAL} → Bot → Reset Token)`, { cause });
    const problem = findStartProblem(cause, "look at its channel");
    if (problem !== undefined)
      return new Fault(problem, 'invite the bot again: README.md, "With the real Discord", step 3', {
        cause,
      });
    if (cause instanceof z.ZodError)
      return new Fault(
        `what answers at ${this.#config.discordApiUrl} is not Discord`,
        "unset DISCORD_API_URL",
        { cause },
      );
    const says = `Discord can't be reached at ${this.#config.discordApiUrl} (${errorText(cause)})`;
    return new Fault(says, `curl -sv ${this.#config.discordApiUrl}/v10/gateway`, { cause });
  }
}
