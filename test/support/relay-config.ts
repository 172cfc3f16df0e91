/** A relay between this sidecar and this local Discord, for tests and benches. */
import type { LocalDiscord } from "../../local-discord/run.ts";
import type { RelayConfig } from "../../relay/config.ts";
import { aDiscordId } from "./ids.ts";

/** In a test that is not about pace, the relay's own waits take this part of their time. */
export const QUICK_WAIT_SCALE = 0.1;

/** Its settings as the README's first step has them. */
export function relayConfigFor(
  sidecar: { url: string; relayToken: string },
  discord: Pick<LocalDiscord, "botToken" | "apiUrl" | "channelId" | "you">,
): RelayConfig {
  return {
    vmUrl: sidecar.url,
    relayToken: sidecar.relayToken,
    discordToken: discord.botToken,
    discordApiUrl: discord.apiUrl,
    channelId: aDiscordId(discord.channelId),
    allowedUserIds: new Set([discord.you.id]),
    roles: [],
    pollIntervalMs: 1_000,
    listMinutes: 10,
    channelMode: "off",
    channelDir: ".",
    isAnsi: false,
    logLevel: "info",
  };
}
