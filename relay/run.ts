/** Wires the relay together: logs in, registers commands, finds its threads again, streams. */
import { ChannelType } from "discord.js";
import type { FixedChannel } from "../shared/channel-api.ts";
import { SidecarClient } from "../shared/client.ts";
import type { DiscordId } from "../shared/ids.ts";
import type { OwnKind } from "../shared/kinds.ts";
import { coalesced, KeyedQueue, Releasers } from "../shared/lifecycle.ts";
import { createLog, type Log } from "../shared/log.ts";
import { type ToldPerson, toldPersonSchema } from "../shared/people-api.ts";
import type { RelayConfig } from "./config.ts";
import { DiscordApi } from "./discord/api.ts";
import { Attended } from "./discord/attended.ts";
import { listen, registerCommands } from "./discord/bot.ts";
import { type Budget, createBudget } from "./discord/budget.ts";
import { Cdn } from "./discord/cdn.ts";
import { logIn, watchConnection } from "./discord/connection.ts";
import { findStartProblem, NO_CHANNEL } from "./discord/refusals.ts";
import { Requests } from "./discord/requests.ts";
import { createRest, onGlobalLimit } from "./discord/rest.ts";
import { ThreadMaker } from "./discord/thread-maker.ts";
import type { RelayKind } from "./kinds/kind.ts";
import { RELAY_KINDS } from "./kinds/kinds.ts";
import { Screenshots } from "./screenshot/screenshot.ts";
import { Vm } from "./sidecar/vm.ts";
import { AbsentThreads } from "./threads/absent-threads.ts";
import { Access } from "./threads/access.ts";
import { ActiveThreads } from "./threads/active-threads.ts";
import { AllMessages } from "./threads/all-messages.ts";
import { Beginnings } from "./threads/beginnings.ts";
import { Channels } from "./threads/channels.ts";
import { EndedThreads } from "./threads/ended.ts";
import { Endings } from "./threads/endings.ts";
import { Here } from "./threads/here.ts";
import { Homes } from "./threads/homes.ts";
import { Inputs } from "./threads/inputs.ts";
import { PersonFiles } from "./threads/person-files.ts";
import { Poller } from "./threads/poller.ts";
import { recover } from "./threads/recovery.ts";
import { ServerRoles } from "./threads/server-roles.ts";
import { Speaker } from "./threads/speaker.ts";
import { Threads } from "./threads/threads.ts";
import { Typist } from "./threads/typist.ts";
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
   * Scales the waits that the relay takes for Discord's limits and for people: between messages, between edits, between
   * two looks at what stands in the channel. 1 in the product; tests that are about something else take less.
   */
  waitScale?: number;
  /** The kinds of threads that are served. */
  kinds?: Readonly<Record<OwnKind, RelayKind>>;
}

/** @throws Error in words for a person where starting makes no sense; waits and tries again where it may. */
export async function runRelay(
  config: RelayConfig,
  {
    log = createLog("relay", config.logLevel),
    now = Date.now,
    waitScale = 1,
    kinds = RELAY_KINDS,
  }: RelayOptions = {},
): Promise<Relay> {
  const releasers = new Releasers();
  const stop = new AbortController();
  releasers.add("waits", () => stop.abort());
  try {
    const known: { access?: Access } = {};
    const rolesOf = (userId: string) => known.access?.rolesOf(userId);
    const client = new SidecarClient({ url: config.vmUrl, token: config.relayToken, rolesOf });
    const vm = new Vm(client);
    const { discord, failed, budget, attended, requests, api } = await connect(config, {
      releasers,
      stop,
      log,
    });
    const atStart = <T>(what: string, work: () => Promise<T>) => {
      const findProblem = (error: unknown) => findStartProblem(error, what);
      return untilItWorks({ what, log, signal: stop.signal, findProblem }, work);
    };
    const botId = discord.user.id;
    const guildId = await findGuild(config, { vm, api, atStart });
    const findParent = (placeId: string) => {
      const found = discord.channels.cache.get(placeId);
      return found?.isThread() ? (found.parentId ?? undefined) : undefined;
    };
    const isAnnouncement = (channelId: string) =>
      discord.channels.cache.get(channelId)?.type === ChannelType.GuildAnnouncement;
    const listRoles = () =>
      discord.guilds.cache.get(guildId)?.roles.cache.map(({ id, name }) => ({ id, name }));
    const place = { guildId, botId, findParent, isAnnouncement, listRoles, signal: stop.signal, log };
    const rooms = openRooms(config, {
      ...{ client, vm, api, budget, attended, place, releasers, now, waitScale, kinds },
    });
    const { access, threads, absent, inputs, channels, poller, findAll } = rooms;
    known.access = access;
    const what = "find the open threads";
    const onReconnected = () => untilItWorks({ what, log, signal: stop.signal }, findAll);
    const hold = inputs.hold();
    // Before the threads are looked up: what is written meanwhile waits for its turn.
    listen({ ...rooms, discord, onReconnected, log });
    endInOrder(releasers, { threads, absent, poller, requests });
    const stream = () => {
      inputs.release(hold);
      poller.start();
      channels.start();
    };
    // The threads do not wait for the commands, which Discord may limit.
    await Promise.all([
      atStart("register its commands", () => registerCommands(discord, place.guildId)),
      atStart(what, findAll).then(stream),
    ]);
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

type AtStart = <T>(what: string, work: () => Promise<T>) => Promise<T | undefined>;

/** The server of the channel that the settings name, or, if that is lost, of another one that is served. */
async function findGuild(
  { channelId }: RelayConfig,
  { vm, api, atStart }: { vm: Vm; api: DiscordApi; atStart: AtStart },
): Promise<string> {
  let problem: unknown = new Error(NO_CHANNEL);
  try {
    const found = await atStart("look up its channel", () => api.findChannel(channelId));
    if (found?.guildId) return found.guildId;
  } catch (error) {
    problem = error;
  }
  // Asked once: whoever sets the bot up is told what is wrong, whether the sidecar answers or not.
  const { channels } = await vm.channels.list().catch(() => ({ channels: [] }));
  for (const { id } of channels.filter((row) => row.id !== channelId)) {
    const found = await api.findChannel(id).catch(() => undefined);
    if (found?.guildId) return found.guildId;
  }
  throw problem;
}

interface Foundations {
  client: SidecarClient;
  vm: Vm;
  api: DiscordApi;
  budget: Budget;
  attended: Attended;
  place: {
    guildId: string;
    botId: string;
    /** The channel of a thread that Discord has told of. */
    findParent: (placeId: string) => string | undefined;
    /** Whether a channel is one of announcements. */
    isAnnouncement: (channelId: string) => boolean;
    /** The server's roles as Discord has told of them. */
    listRoles: () => readonly { id: string; name: string }[] | undefined;
    signal: AbortSignal;
    log: Log;
  };
  releasers: Releasers;
  now: () => number;
  waitScale: number;
  kinds: Readonly<Record<OwnKind, RelayKind>>;
}

/** All that serves threads and channels, made and not started. */
function openRooms(
  config: RelayConfig,
  { client, vm, api, budget, attended, place, releasers, now, waitScale, kinds }: Foundations,
) {
  const { listMinutes, isAnsi } = config;
  const { botId, guildId, findParent, listRoles, signal, log } = place;
  const fixed = fixedChannelOf(config);
  const people = fixedPeopleOf(config);
  const serverRoles = new ServerRoles({ vm, people, list: listRoles, log });
  const whoMay = new WhoMay({ client, people, serverRoles, channel: fixed, log });
  const channelOf = (placeId: string) => findParent(placeId) ?? placeId;
  const access = new Access({
    ...{ vm, people, guildId, channelOf },
    findRoles: (userId) => api.findRoles(guildId, userId),
  });
  const shared = { vm, api, budget, now, waitScale };
  const channels = new Channels({ ...shared, ...place, fixed, access });
  releasers.add("what needs people", () => channels.close());
  const isServed = (channelId: DiscordId) => channels.find(channelId) !== undefined;
  const threadMaker = new ThreadMaker({ api, ...place, isServed, now });
  const threads = new Threads({
    ...{ ...shared, kinds, channels, botId, isAnsi, log },
    refreshChannels: () => refreshChannels(),
  });
  const activeThreads = new ActiveThreads({ api, budget, attended, threads, botId, now, log });
  const endings = new Endings({ vm, threads, api, log, signal });
  const beginnings = new Beginnings({ vm, threads, endings, threadMaker, attended, api, log });
  const homes = new Homes({ vm, threads, channels, threadMaker, api, ...place });
  const files = new PersonFiles(new Cdn(config.discordApiUrl, signal));
  const ended = new EndedThreads({ api, vm, beginnings, channels, endings, files, botId, log });
  const absent = new AbsentThreads({ api, log });
  const inputs = new Inputs({ api, threads, files, ended, absent, access, attended, log, now, signal });
  const channelMessages = new AllMessages({
    ...{ api, vm, threads, beginnings, inputs, channels, access, now },
    ...place,
  });
  // A change of many roles, or of many channels, at Discord is many events: one look after them is enough.
  const refreshChannels = coalesced(async () => {
    const { on, back } = await channels.refresh((now, before) => channelMessages.beforeSettings(now, before));
    await access.refresh();
    await channelMessages.catchUp(on);
    threads.onChannelsBack(back.map(({ id }) => id));
    if (back.length > 0) await recoverAll();
  });
  const speaker = new Speaker({ vm, channels, typist: new Typist({ ...shared, ...place }), ...place });
  const poller = new Poller({
    ...{ vm, threads, endings, channels, speaker, homes, log, refreshChannels },
    pollIntervalMs: config.pollIntervalMs,
    onBack: () => whoMay.tell(),
  });
  const findAll = async () => {
    await whoMay.tell();
    await access.refresh();
    const { back } = await channels.refresh((now, before) => channelMessages.beforeSettings(now, before));
    threads.onChannelsBack(back.map(({ id }) => id));
    await recoverAll();
  };
  const recovering = new KeyedQueue();
  const recoverAll = () => {
    const found = { threads, endings, inputs, homes, channels, channelMessages, absent, activeThreads };
    return recovering.run("recover", () => recover({ api, vm, ...found, ...place }));
  };
  const screenshots = new Screenshots();
  releasers.add("screenshots", () => screenshots.close());
  const rooms = { threadMaker, threads, absent, inputs, ended, channels, channelMessages, poller, findAll };
  const here = new Here({ channels, access, serverRoles, refreshChannels });
  const forCommands = { channels, here, refreshChannels, beginnings, endings, screenshots };
  const context = { vm, threads, ...forCommands, access, listMinutes, now };
  const met = meeting({ access, whoMay, attended });
  return { ...rooms, access, activeThreads, serverRoles, context, met };
}

/** Told that somebody wrote or pressed something. */
function meeting({ access, whoMay, attended }: { access: Access; whoMay: WhoMay; attended: Attended }) {
  return (discordId: string, name: string, placeId: string | null) => {
    if (access.isSomebody(discordId)) whoMay.note(discordId, name);
    if (placeId !== null && access.may(discordId, "read", placeId)) attended.note(placeId);
  };
}

/** The people, and roles at Discord, that have a role by the relay's own settings. */
function fixedPeopleOf({ allowedUserIds, roles }: RelayConfig): ToldPerson[] {
  const owners = [...allowedUserIds].map((id) => toldPersonSchema.parse({ id, role: "owner" }));
  const isOwner = ({ kind, id, channelId }: ToldPerson) =>
    kind === "user" && channelId === null && allowedUserIds.has(id);
  return [...owners, ...roles.filter((one) => !isOwner(one))];
}

/** The channel that the relay's own settings name. */
function fixedChannelOf({ channelId, channelDir, channelMode }: RelayConfig): FixedChannel {
  const choices = { engine: null, model: null, permissionMode: null, directive: null, agent: null };
  return { id: channelId, dir: channelDir, mode: channelMode, ...choices, limits: {}, worktree: false };
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
  const attended = new Attended();
  const budget = createBudget({ isAttended: (threadId) => attended.has(threadId) });
  const rest = createRest(discord.rest, config.discordToken);
  releasers.add("request handlers", () => rest.close());
  for (const source of [rest.rest, discord.rest]) onGlobalLimit(source, budget.slowDown);
  const requests = new Requests(stop.signal, budget.pass);
  const api = new DiscordApi(rest.rest, requests);
  return { discord, failed, budget, attended, requests, api };
}
