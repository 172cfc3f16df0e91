/** The relay's settings. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { CHANNEL_MODES, type ChannelMode, modeProblem } from "../shared/channel-api.ts";
import { ConfigError, splitNames, tryEnv, withoutBlanks } from "../shared/config.ts";
import { type DiscordId, discordIdOr, discordIdSchema } from "../shared/ids.ts";
import { LOG_LEVELS } from "../shared/log.ts";

import { type ToldPerson, toldPersonSchema } from "../shared/people-api.ts";
import { readPrivateFile } from "../shared/private-file.ts";
import { trimEndOf } from "../shared/trim-end.ts";

const url = (what: string) =>
  z.url({ protocol: /^https?$/, error: `must be ${what}, with http:// or https://` });

/** Reads an entry of `ROLES`: `member:123456789012345678`, `viewer:&223456789012345678@323456789012345678`. */
function readRole(entry: string, context: z.RefinementCtx): ToldPerson[] {
  const [, role = "", isRole, id, channelId = null] = /^([^:]*):(&?)([^@]*)(?:@(.*))?$/.exec(entry) ?? [];
  const kind = isRole === "&" ? "role" : "user";
  const { data, error } = toldPersonSchema.safeParse({ kind, id, channelId, role });
  if (data) return [data];
  const form = "role:user, role:&discordRole or role:user@channel";
  const [issue] = error.issues;
  const message = `${JSON.stringify(entry)} is no ${form}: ${String(issue?.path[0] ?? "")} ${issue?.message}`;
  context.addIssue({ code: "custom", message, input: entry });
  return [];
}

/** Each variable that the relay reads; what it shares with the sidecar is described there. */
export const relaySettings = z.object({
  VM_URL: url("the sidecar's address")
    .default("http://127.0.0.1:3001")
    .describe("The sidecar's address. `scripts/run` sets it to the sidecar that it starts."),
  RELAY_TOKEN: z.string().min(32, "must have at least 32 characters, and be the sidecar's").optional(),
  STATE_DIR: z.string().default("/data/threadmux"),
  DISCORD_TOKEN: z
    .string("the bot's token is needed")
    .describe("The bot's token. `scripts/run` without it starts a local stand-in for Discord instead."),
  DISCORD_API_URL: url("the base address of Discord's REST API")
    .default("https://discord.com/api")
    .describe("The base address of Discord's REST API. The gateway's address comes from it."),
  DISCORD_CHANNEL_ID: discordIdOr(
    "the id of the channel where threads are made is needed",
    "must be a channel's id: 17 to 20 digits",
  ).describe(
    "The first channel: threads that belong to no other are made there. `/here` in another one serves that too.",
  ),
  ALLOWED_USER_IDS: z
    .string("the ids of the owners are needed; they give others a role")
    .transform(splitNames)
    .refine((ids) => ids.length > 0, "must name at least one user")
    .refine(
      (ids) => ids.every((id) => discordIdSchema.safeParse(id).success),
      "must be user ids of 17 to 20 digits, separated by commas",
    )
    .describe(
      "The owners, who may do everything: user ids, separated by commas. Others may what `ROLES` and `/here` let them.",
    ),
  ROLES: z
    .string()
    .default("")
    .transform(splitNames)
    .transform((entries, context) => entries.flatMap((entry) => readRole(entry, context)))
    .describe(
      "Who else may what ([security.md](security.md#roles)): `role:user`, `role:&discordRole`, each with `@channel` behind it if it holds there alone, separated by commas. Roles: `owner`, `maker`, `member`, `viewer`, `guest`. These change nowhere else.",
    ),
  POLL_INTERVAL_MS: z.coerce
    .number("must be a whole number of milliseconds from 100 to 60000")
    .int()
    .min(100, "must be at least 100")
    .max(60_000, "must be at most 60000")
    .default(1_000)
    .describe("How often output is polled, in milliseconds; at least every 600 while an agent works."),
  THREAD_LIST_MINUTES: z.coerce
    .number("must be a whole number of minutes from 1 to 10080")
    .int()
    .min(1, "must be at least 1")
    .max(10_080, "must be at most 10080")
    .default(10)
    .describe(
      "How many minutes after its end, or after an agent fell idle, a thread leaves `/status` and `/thread list`. `all` shows it.",
    ),
  CHANNEL_MODE: z
    .enum(CHANNEL_MODES, { error: modeProblem })
    .default("off")
    .describe(
      "What a message in that channel does. `off`: nothing. `mention`: it begins an agent's thread if it names the bot. `threads`: any message begins one. Answers go into the thread that they belong to.",
    ),
  CHANNEL_DIR: z
    .string()
    .min(1)
    .max(4_096)
    .default(".")
    .describe(
      "That channel's directory, below the sidecar's `REPOS_DIR`: its threads run there if nobody says where.",
    ),
  OUTPUT_ANSI: z
    .enum(["0", "1"], "must be 0 or 1")
    .default("0")
    .describe("`1` shows the output in colour, in Discord's `ansi` blocks. Phones show junk."),
  LOG_LEVEL: z.enum(LOG_LEVELS).default("info"),
});

export interface RelayConfig {
  vmUrl: string;
  relayToken: string;
  discordToken: string;
  discordApiUrl: string;
  channelId: DiscordId;
  allowedUserIds: ReadonlySet<string>;
  /** The roles that `ROLES` gives to people and to roles at Discord. */
  roles: readonly ToldPerson[];
  pollIntervalMs: number;
  /** A thread leaves the lists this long after its end, or after its agent fell idle. */
  listMinutes: number;
  /** What a message in the channel does: nothing, or begin an agent's thread (if it names the bot, or always). */
  channelMode: ChannelMode;
  /** Where the agents work that messages of the channel begin; relative to the sidecar's REPOS_DIR. */
  channelDir: string;
  /** Colours, in Discord's ansi blocks. */
  isAnsi: boolean;
  logLevel: (typeof LOG_LEVELS)[number];
}

/** @throws ConfigError with every problem at once. */
export function parseRelayConfig(environment: Record<string, string | undefined>): RelayConfig {
  const env = withoutBlanks(environment);
  const { values, problems } = tryEnv(relaySettings, env);
  const relayToken = env["RELAY_TOKEN"] || findToken(resolve(env["STATE_DIR"] || "/data/threadmux"));
  if (relayToken === undefined) {
    problems.push(
      "RELAY_TOKEN: missing; the token that the sidecar takes from its relay is needed (or STATE_DIR, where it keeps one)",
    );
  }
  if (!values || relayToken === undefined || problems.length > 0) throw new ConfigError(problems);
  return {
    vmUrl: values.VM_URL,
    relayToken,
    discordToken: values.DISCORD_TOKEN,
    discordApiUrl: trimEndOf(values.DISCORD_API_URL, "/"),
    channelId: values.DISCORD_CHANNEL_ID,
    allowedUserIds: new Set(values.ALLOWED_USER_IDS),
    roles: values.ROLES,
    pollIntervalMs: values.POLL_INTERVAL_MS,
    listMinutes: values.THREAD_LIST_MINUTES,
    channelMode: values.CHANNEL_MODE,
    channelDir: values.CHANNEL_DIR,
    isAnsi: values.OUTPUT_ANSI === "1",
    logLevel: values.LOG_LEVEL,
  };
}

function findToken(stateDir: string): string | undefined {
  const file = join(stateDir, "relay-token");
  return existsSync(file) ? readPrivateFile(file).trim() : undefined;
}
