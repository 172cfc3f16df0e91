/** The relay's settings. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { ConfigError, tryEnv, withoutBlanks } from "../shared/config.ts";
import { LOG_LEVELS } from "../shared/log.ts";
import { readPrivateFile } from "../shared/private-file.ts";
import { trimEndOf } from "../shared/trim-end.ts";
import { CHANNEL_MODES, type ChannelMode } from "./discord/channel-message.ts";

const SNOWFLAKE = /^\d{17,20}$/;

const url = (what: string) =>
  z.url({ protocol: /^https?$/, error: `must be ${what}, with http:// or https://` });

const schema = z.object({
  VM_URL: url("the sidecar's address").default("http://127.0.0.1:3001"),
  VM_TOKEN: z.string().min(32, "must have at least 32 characters, and be the sidecar's").optional(),
  STATE_DIR: z.string().default("/data/threadmux"),
  DISCORD_TOKEN: z.string("the bot's token is needed"),
  DISCORD_API_URL: url("the base address of Discord's REST API").default("https://discord.com/api"),
  DISCORD_CHANNEL_ID: z
    .string("the id of the channel where threads are made is needed")
    .regex(SNOWFLAKE, "must be a channel's id: 17 to 20 digits"),
  ALLOWED_USER_IDS: z
    .string("the ids of those who may use the bot are needed; nobody else is served")
    .transform((ids) =>
      ids
        .split(",")
        .map((id) => id.trim())
        .filter((id) => id !== ""),
    )
    .refine((ids) => ids.length > 0, "must name at least one user")
    .refine(
      (ids) => ids.every((id) => SNOWFLAKE.test(id)),
      "must be user ids of 17 to 20 digits, separated by commas",
    ),
  POLL_INTERVAL_MS: z.coerce
    .number("must be a whole number of milliseconds from 100 to 60000")
    .int()
    .min(100, "must be at least 100")
    .max(60_000, "must be at most 60000")
    .default(1_000),
  THREAD_LIST_MINUTES: z.coerce
    .number("must be a whole number of minutes from 1 to 10080")
    .int()
    .min(1, "must be at least 1")
    .max(10_080, "must be at most 10080")
    .default(10),
  CHANNEL_MODE: z.enum(CHANNEL_MODES, `must be ${CHANNEL_MODES.join(", ")}`).default("off"),
  CHANNEL_DIR: z.string().min(1).max(4_096).default("."),
  OUTPUT_ANSI: z.enum(["0", "1"], "must be 0 or 1").default("0"),
  LOG_LEVEL: z.enum(LOG_LEVELS).default("info"),
});

export interface RelayConfig {
  vmUrl: string;
  vmToken: string;
  discordToken: string;
  discordApiUrl: string;
  channelId: string;
  allowedUserIds: ReadonlySet<string>;
  pollIntervalMs: number;
  /** So long after its end, or after an agent fell idle, a thread leaves the lists. */
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
  const { values, problems } = tryEnv(schema, env);
  const vmToken = env["VM_TOKEN"] || findToken(resolve(env["STATE_DIR"] || "/data/threadmux"));
  if (vmToken === undefined) {
    problems.push("VM_TOKEN: missing; the sidecar's token is needed (or STATE_DIR, where it keeps one)");
  }
  if (!values || vmToken === undefined || problems.length > 0) throw new ConfigError(problems);
  return {
    vmUrl: values.VM_URL,
    vmToken,
    discordToken: values.DISCORD_TOKEN,
    discordApiUrl: trimEndOf(values.DISCORD_API_URL, "/"),
    channelId: values.DISCORD_CHANNEL_ID,
    allowedUserIds: new Set(values.ALLOWED_USER_IDS),
    pollIntervalMs: values.POLL_INTERVAL_MS,
    listMinutes: values.THREAD_LIST_MINUTES,
    channelMode: values.CHANNEL_MODE,
    channelDir: values.CHANNEL_DIR,
    isAnsi: values.OUTPUT_ANSI === "1",
    logLevel: values.LOG_LEVEL,
  };
}

function findToken(stateDir: string): string | undefined {
  const file = join(stateDir, "token");
  return existsSync(file) ? readPrivateFile(file).trim() : undefined;
}
