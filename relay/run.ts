/** Wires the relay together: logs in, registers commands, finds its threads again, streams. */
import { SidecarClient } from "../shared/client.ts";
import type { DiscordId } from "../shared/ids.ts";
import { Releasers } from "../shared/lifecycle.ts";
import { createLog, type Log } from "../shared/log.ts";
import type { RelayConfig } from "./config.ts";
import { DiscordApi } from "./discord/api.ts";
import { listen, registerCommands } from "./discord/bot.ts";
import { type Budget, createBudget } from "./discord/budget.ts";
import { Cdn } from "./discord/cdn.ts";
import { logIn, watchConnection } from "./discord/connection.ts";
import { findStartProblem, NO_CHANNEL } from "./discord/refusals.ts";
import { Requests } from "./discord/requests.ts";
import { createRest, onGlobalLimit } from "./discord/rest.ts";
import { ThreadMaker } from "./discord/thread-maker.ts";
import { Screenshots } from "./screenshot/screenshot.ts";
import { Vm } from "./sidecar/vm.ts";
import { AbsentThreads } from "./threads/absent-threads.ts";
import { Beginnings } from "./threads/beginnings.ts";
import { Channel } from "./threads/channel.ts";
import { ChannelMessages } from "./threads/channel-messages.ts";
import { EndedThreads } from "./threads/ended.ts";
import { Endings } from "./threads/endings.ts";
import { Homes } from "./threads/homes.ts";
import { Inputs } from "./threads/inputs.ts";
import { PersonFiles } from "./threads/person-files.ts";
import { Poller } from "./threads/poller.ts";
import { recover } from "./threads/recovery.ts";
import { Threads } from "./threads/threads.ts";
import { untilItWorks } from "./threads/until-it-works.ts";
import { WhoMay } from "./threads/who-may.ts";

export interface Relay {
  /** Who the bot is. */
  botId: string;
  /** Rejects when Discord has closed the connection for good; never resolves otherwise. */
  failed: Promise<never>;
  close: () => Promise<void>;
}

export interface RelayOptions {
  log?: Log;
  now?: () => number;
  /**
   * Of the waits that the relay takes for Discord's limits and for people: between messages, between edits, between
   * two looks at what stands in the channel. 1 in the product; tests that are about something else take less.
   */
  waitScale?: number;
}

/** @throws Error in words for a person where starting makes no sense; waits and tries again where it may. */
export async function runRelay(
  config: RelayConfig,
  { log = createLog("relay", config.logLevel), now = Date.now, waitScale = 1 }: RelayOptions = {},
): Promise<Relay> {
  const releasers = new Releasers();
  const stop = new AbortController();
  releasers.add("waits", () => stop.abort());
  try {
    const client = new SidecarClient({ url: config.vmUrl, token: config.relayToken });
    const vm = new Vm(client);
    const { channelId } = config;
    const { discord, failed, budget, requests, api } = await connect(config, { releasers, stop, log });
    const atStart = <T>(what: string, work: () => Promise<T>) => {
      const findProblem = (error: unknown) => findStartProblem(error, what);
      return untilItWorks({ what, log, signal: stop.signal, findProblem }, work);
    };
    const found = await atStart("look up its channel", () => api.findChannel(channelId));
    if (!found?.guildId) throw new Error(NO_CHANNEL);
    const botId = discord.user.id;
    const place = { channelId, guildId: found.guildId, botId, signal: stop.signal, log };
    const rooms = openRooms(config, { client, vm, api, budget, place, releasers, now, waitScale });
    const { threads, absent, inputs, channel, poller, findAll } = rooms;
    const what = "find the open threads";
    const onReconnected = () => untilItWorks({ what, log, signal: stop.signal }, findAll);
    const hold = inputs.hold();
    // Before the threads are looked up: what is written meanwhile waits for its turn.
    listen({ ...rooms, discord, channelId, onReconnected, log });
    endInOrder(releasers, { threads, absent, poller, requests });
    const stream = () => {
      inputs.release(hold);
      poller.start();
      channel.start();
    };
    // The threads do not wait for the commands, which Discord may limit.
    await Promise.all([
      atStart("register its commands", () => registerCommands(discord, place.guildId)),
      atStart(what, findAll).then(stream),
    ]);
    log.info(
      { bot: discord.user.tag, guildId: place.guildId, channelId, vm: config.vmUrl },
      "relay is ready",
    );
    return { botId, failed, close: () => releasers.close() };
  } catch (error) {
    await releasers.close();
    throw error;
  }
}

interface Foundations {
  client: SidecarClient;
  vm: Vm;
  api: DiscordApi;
  budget: Budget;
  place: { channelId: DiscordId; guildId: string; botId: string; signal: AbortSignal; log: Log };
  releasers: Releasers;
  now: () => number;
  waitScale: number;
}

/** All that serves threads and the channel, made and not started. */
function openRooms(
  config: RelayConfig,
  { client, vm, api, budget, place, releasers, now, waitScale }: Foundations,
) {
  const { channelId, allowedUserIds, listMinutes, isAnsi } = config;
  const { botId, signal, log } = place;
  const served = { id: channelId, dir: config.channelDir, mode: config.channelMode };
  const whoMay = new WhoMay({ client, userIds: allowedUserIds, channel: served, log });
  const threadMaker = new ThreadMaker({ api, ...place, now });
  const channel = new Channel({ vm, api, budget, botId, channelId, allowedUserIds, log, now, waitScale });
  releasers.add("what needs people", () => channel.close());
  const threads = new Threads({ vm, api, budget, channel, channelId, botId, isAnsi, log, now, waitScale });
  const endings = new Endings({ vm, threads, api, log, signal });
  const beginnings = new Beginnings({ vm, threads, endings, threadMaker, api, log });
  const homes = new Homes({ vm, threads, threadMaker, api, ...place });
  const poller = new Poller({
    ...{ vm, threads, endings, channel, homes, log },
    pollIntervalMs: config.pollIntervalMs,
    onBack: () => whoMay.tell(),
  });
  const files = new PersonFiles(new Cdn(config.discordApiUrl, signal));
  const ended = new EndedThreads({ api, vm, beginnings, endings, files, botId, log });
  const absent = new AbsentThreads({ api, channelId, log });
  const inputs = new Inputs({
    ...{ api, threads, files, ended, absent, allowedUserIds, log, now },
    signal,
  });
  const channelMessages = new ChannelMessages({
    ...{ api, vm, threads, beginnings, inputs, channel, allowedUserIds, now },
    ...place,
    rules: { mode: config.channelMode, botId },
    dir: config.channelDir,
  });
  const findAll = async () => {
    await whoMay.tell();
    await recover({ api, vm, threads, endings, inputs, homes, channelMessages, absent, ...place });
  };
  const screenshots = new Screenshots();
  releasers.add("screenshots", () => screenshots.close());
  const context = { vm, threads, beginnings, endings, screenshots, allowedUserIds, listMinutes, now };
  const met = (discordId: string, name: string) => whoMay.note(discordId, name);
  return {
    threadMaker,
    threads,
    absent,
    inputs,
    ended,
    channel,
    channelMessages,
    poller,
    context,
    findAll,
    met,
  };
}

interface Streaming {
  threads: Threads;
  absent: AbsentThreads;
  poller: Poller;
  requests: Requests;
}

/** What ends last is named first. */
function endInOrder(releasers: Releasers, { threads, absent, poller, requests }: Streaming): void {
  releasers.add("threads", () => threads.close());
  releasers.add("lookups of threads", () => absent.close());
  releasers.add("reading", () => poller.close());
  // Before the threads end: one that waits for Discord would keep them all from ending.
  releasers.add("waits for Discord", () => requests.leave());
}

/** Discord: the gateway, and the way to its REST API, within its limits. */
async function connect(
  config: RelayConfig,
  { releasers, stop, log }: { releasers: Releasers; stop: AbortController; log: Log },
) {
  const discord = await logIn(config, log);
  releasers.add("discord", () => discord.destroy());
  const failed = watchConnection(discord, log);
  const budget = createBudget();
  const rest = createRest(discord.rest, config.discordToken);
  releasers.add("request handlers", () => rest.close());
  for (const source of [rest.rest, discord.rest]) onGlobalLimit(source, budget.slowDown);
  const requests = new Requests(stop.signal, budget.pass);
  const api = new DiscordApi(rest.rest, requests);
  return { discord, failed, budget, requests, api };
}
