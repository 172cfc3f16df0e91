/** Wires the relay together: logs in, registers commands, finds its threads again, streams. */
import { type Client, Events, REST, RESTEvents } from "discord.js";
import { SidecarClient } from "../shared/client.ts";
import { errorText } from "../shared/errors.ts";
import { pause, Releasers, withDeadline } from "../shared/lifecycle.ts";
import { createLog, type Log } from "../shared/log.ts";
import type { RelayConfig } from "./config.ts";
import { DiscordApi } from "./discord/api.ts";
import { createClient, listen, registerCommands } from "./discord/bot.ts";
import { createBudget } from "./discord/budget.ts";
import { Inputs } from "./threads/inputs.ts";
import { recover } from "./threads/recovery.ts";
import { Sessions } from "./threads/threads.ts";

export interface Relay {
  /** Who the bot is. */
  botId: string;
  /** Rejects when Discord has closed the connection for good; never resolves otherwise. */
  failed: Promise<never>;
  close: () => Promise<void>;
}

const MAX_BACKOFF_MS = 30_000;
const READY_DEADLINE_MS = 60_000;

/** Close codes after which discord.js does not come back, and what to do about each. */
const FATAL_CLOSE_CODES: Record<number, string> = {
  4004: "Discord refused the bot's token: check DISCORD_TOKEN.",
  4010: "Discord refused the shard that this bot asked for.",
  4011: "This bot is in so many servers that Discord asks for sharding; threadmux serves one.",
  4012: "Discord no longer speaks this version of its gateway: update threadmux.",
  4013: "Discord refused the intents that this bot asked for.",
  4014: "The bot may not read messages: switch on the Message Content intent (Developer Portal → your application → Bot → Privileged Gateway Intents).",
};

/** @throws Error in words for a person where starting makes no sense; waits and tries again where it may. */
export async function runRelay(
  config: RelayConfig,
  { log = createLog("relay", config.logLevel), now = Date.now }: { log?: Log; now?: () => number } = {},
): Promise<Relay> {
  const releasers = new Releasers();
  const stop = new AbortController();
  releasers.add("waits", () => stop.abort());
  try {
    const client = new SidecarClient({ url: config.vmUrl, token: config.vmToken });
    const { channelId, allowedUserIds } = config;
    const discord = await logIn(config, log);
    releasers.add("discord", () => discord.destroy());
    const failed = watchConnection(discord, log);
    const budget = createBudget();
    // Of its own, since discord.js tries again at once and counts that nowhere; answers to commands stay with it.
    const rest = new REST({ ...discord.rest.options, retries: 0 }).setToken(config.discordToken);
    releasers.add("requests", () => rest.clearHashSweeper());
    releasers.add("request handlers", () => rest.clearHandlerSweeper());
    for (const source of [rest, discord.rest]) {
      source.on(RESTEvents.Response, (_request, response) => {
        if (response.status === 429)
          budget.slowDown(Number(response.headers.get("retry-after") ?? 1) * 1_000);
      });
    }
    const api = new DiscordApi(rest, stop.signal, () => budget.pass());
    const channel = await api.findChannel(channelId);
    if (!channel?.guildId) {
      throw new Error(
        "DISCORD_CHANNEL_ID names no channel of a server that the bot can see: invite it, and let it view the channel.",
      );
    }
    const { guildId } = channel;
    const botId = discord.user.id;
    const sessions = new Sessions({
      api,
      client,
      budget,
      channelId,
      botId,
      isAnsi: config.isAnsi,
      pollIntervalMs: config.pollIntervalMs,
      log,
      now,
    });
    const inputs = new Inputs({
      api,
      client,
      allowedUserIds,
      log,
      now,
      signal: stop.signal,
      findType: (threadId) => sessions.findType(threadId),
      onTyping: (threadId) => sessions.findStream(threadId)?.breakPage(),
      onHandled: ({ threadId, messageId, isFromPerson }) =>
        sessions.findStream(threadId)?.noteSeen(messageId, isFromPerson),
    });
    const findAll = () =>
      untilItWorks("find the open threads", log, stop.signal, () =>
        recover({ api, client, sessions, inputs, channelId, guildId, botId, log }),
      );
    const context = { sessions, client, allowedUserIds, now };
    const hold = inputs.hold();
    // Before the threads are looked up: what is written meanwhile waits for its turn.
    listen({ discord, inputs, context, onReconnected: findAll, log });
    await Promise.all([registerCommands(discord, guildId), findAll()]);
    inputs.release(hold);
    releasers.add("sessions", () => sessions.close());
    sessions.start();
    log.info(
      { bot: discord.user.tag, guildId, channelId: config.channelId, vm: config.vmUrl },
      "relay is ready",
    );
    return { botId, failed, close: () => releasers.close() };
  } catch (error) {
    await releasers.close();
    throw error;
  }
}

/** A new client for each try: after a login that failed, discord.js' client never becomes ready. */
async function logIn(config: RelayConfig, log: Log): Promise<Client<true>> {
  for (let waitMs = 500; ; waitMs = Math.min(waitMs * 2, MAX_BACKOFF_MS)) {
    const discord = createClient(config.discordApiUrl);
    discord.on(Events.Error, (error) => log.error({ err: error }, "discord.js reported an error"));
    discord.on(Events.ShardError, (error) => log.warn({ err: error }, "the gateway connection failed"));
    try {
      const ready = new Promise<Client<true>>((resolve) => discord.once(Events.ClientReady, resolve));
      ready.catch(() => undefined); // never rejects
      await discord.login(config.discordToken);
      return await withDeadline(ready, READY_DEADLINE_MS, "becoming ready at Discord");
    } catch (error) {
      await discord.destroy();
      const text = errorText(error);
      if (/invalid token|TokenInvalid|Authentication failed/i.test(text))
        throw new Error(FATAL_CLOSE_CODES[4004], { cause: error });
      if (/disallowed intents/i.test(text)) throw new Error(FATAL_CLOSE_CODES[4014], { cause: error });
      if (/invalid intents/i.test(text)) throw new Error(FATAL_CLOSE_CODES[4013], { cause: error });
      log.warn({ err: error, waitMs }, "could not log in to Discord; trying again");
      await pause(waitMs);
    }
  }
}

function watchConnection(discord: Client, log: Log): Promise<never> {
  const failed = new Promise<never>((_resolve, reject) => {
    discord.on(Events.ShardDisconnect, ({ code }) => {
      const reason = FATAL_CLOSE_CODES[code];
      if (reason !== undefined) reject(new Error(reason));
      else log.warn({ code }, "disconnected from Discord");
    });
  });
  failed.catch(() => undefined); // whoever runs the relay looks at it
  return failed;
}

/** The sidecar may come up later than the relay. */
async function untilItWorks(
  what: string,
  log: Log,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  for (let waitMs = 500; !signal.aborted; waitMs = Math.min(waitMs * 2, 5_000)) {
    try {
      return await work();
    } catch (error) {
      log.warn({ err: error, waitMs }, `could not ${what}; trying again`);
      await pause(waitMs, signal);
    }
  }
}
