/**
 * Local Discord: a loopback stand-in for the REST API, the gateway and the client of Discord, strict where
 * Discord is strict. Real discord.js runs against it unchanged:
 *
 * ```ts
 * const discord = await runLocalDiscord({ port: 0 });
 * const client = new Client({ intents: [...], rest: { api: discord.apiUrl } });
 * await client.login(discord.botToken);
 * ```
 *
 * People are played by the page at `pageUrl` or, in tests, by `driver` (see `driver.ts`).
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Releasers } from "../shared/lifecycle.ts";
import { isOwnHost } from "./access.ts";
import { serveAttachment } from "./cdn.ts";
import { Driver } from "./driver.ts";
import { FileStore } from "./file-store.ts";
import { Gateway } from "./gateway.ts";
import { PageServer } from "./page-server.ts";
import { type Limits, mergeLimits, RateLimiter } from "./rate-limits.ts";
import { RestServer } from "./rest.ts";
import { createWorldData, World, type WorldData } from "./state.ts";
import { Stats } from "./stats.ts";
import { loadWorldData, Saver } from "./store.ts";
import type { Snowflake } from "./types.ts";

const LOOPBACK = ["127.0.0.1", "localhost", "::1"];
const TICK_MS = 1_000;

export type LocalDiscordOptions = {
  /** A loopback address; default 127.0.0.1. */
  host?: string;
  /** 0 takes any free port. */
  port?: number;
  /** Where everything is kept over restarts; without it in memory. Attachments go to `<stateFile>.files/`. */
  stateFile?: string;
  /** Milliseconds since 1970. Rate limits, time-outs, archiving and ids follow it. */
  now?: () => number;
  /** Numbers that differ from `DEFAULT_LIMITS`; `WIDE_LIMITS` for tests that are about something else. */
  limits?: Partial<Limits>;
  /** People besides "You"; only for a new guild. */
  users?: readonly { id?: Snowflake; name: string }[];
  heartbeatIntervalMs?: number;
  /** How long a dropped gateway session can be resumed. */
  sessionTtlMs?: number;
};

export type Person = { id: Snowflake; name: string };

export type LocalDiscord = {
  /** For `rest.api` of discord.js. */
  apiUrl: string;
  /** The page's address with this start's key. */
  pageUrl: string;
  origin: string;
  port: number;
  botToken: string;
  applicationId: Snowflake;
  guildId: Snowflake;
  channelId: Snowflake;
  /** The person of the page; owner of the guild. */
  you: Person;
  /** Everybody but the bot, "you" first. */
  users: Person[];
  driver: Driver;
  /** Ends connections and saves. */
  close(): Promise<void>;
};

/**
 * Starts it.
 * @throws Error when the port is taken, the host is no loopback address or the state file cannot be read.
 */
export async function runLocalDiscord(options: LocalDiscordOptions = {}): Promise<LocalDiscord> {
  const host = options.host ?? "127.0.0.1";
  if (!LOOPBACK.includes(host)) throw new Error(`local Discord listens on loopback only, not on ${host}`);
  const server = createServer();
  // The state file is read once the port is ours: until then somebody else may be writing it.
  await listen(server, host, options.port ?? 0);
  try {
    return assemble(server, host, options);
  } catch (error) {
    await stop(server);
    throw error;
  }
}

/** Nothing in here waits, so that no request comes before somebody takes it. */
function assemble(server: Server, host: string, options: LocalDiscordOptions): LocalDiscord {
  const port = portOf(server);
  const origin = `http://${host === "::1" ? "[::1]" : host}:${port}`;
  const world = openWorld(origin, options);
  const { gateway, driver, rest } = makeSides(world, options);
  const page = new PageServer({ world, key: randomBytes(32).toString("base64url") });
  server.on("request", (request, response) => void route({ request, response, world, rest, page }));
  server.on("upgrade", (request, socket, head) => upgrade(gateway, port, request, socket, head));

  const releasers = new Releasers();
  if (options.stateFile !== undefined) {
    const saver = new Saver(options.stateFile, world);
    // First in, last out: what the closing of everything else changes is saved too.
    releasers.add("state file", () => saver.close());
  }
  releasers.add("server", () => stop(server));
  // Before the server: it waits for upgraded connections too.
  releasers.add("gateway", () => gateway.close());
  releasers.add("page", () => page.close());
  let lastTick = performance.now();
  const ticker = setInterval(() => {
    const tick = performance.now();
    if (tick - lastTick > 2 * TICK_MS) world.interactions.wokeAt = world.now();
    lastTick = tick;
    driver.tick();
  }, TICK_MS);
  ticker.unref();
  releasers.add("clock", () => clearInterval(ticker));

  const { applicationId, guildId, channelId } = world.data;
  const users = peopleOf(world.data);
  return {
    apiUrl: `${origin}/api`,
    pageUrl: `${origin}/#key=${page.key}`,
    origin,
    port,
    get botToken() {
      return world.data.botToken;
    },
    applicationId,
    guildId,
    channelId,
    you: users.find(({ id }) => id === world.data.youId) ?? { id: world.data.youId, name: "You" },
    users,
    driver,
    close: () => releasers.close(),
  };
}
function openWorld(origin: string, { stateFile, users, ...options }: LocalDiscordOptions): World {
  const now = options.now ?? Date.now;
  const kept = stateFile === undefined ? undefined : loadWorldData(stateFile);
  return new World({
    origin,
    data: kept ?? createWorldData({ now: now(), ...(users ? { users } : {}) }),
    now,
    limits: mergeLimits(options.limits),
    files: new FileStore(stateFile === undefined ? undefined : `${stateFile}.files`),
  });
}

/** What the bot talks to, and the people's side. */
function makeSides(world: World, { heartbeatIntervalMs, sessionTtlMs }: LocalDiscordOptions) {
  const stats = new Stats();
  const gatewayUrl = `${world.origin.replace("http:", "ws:")}/gateway`;
  const gateway = new Gateway({
    world,
    stats,
    url: gatewayUrl,
    ...(heartbeatIntervalMs === undefined ? {} : { heartbeatIntervalMs }),
    ...(sessionTtlMs === undefined ? {} : { sessionTtlMs }),
  });
  const driver = new Driver({ world, gateway, stats });
  const rest = new RestServer({
    world,
    limiter: new RateLimiter(world.limits, world.now),
    stats,
    findFault: (request) => driver.faults.rest?.(request),
    gatewayUrl,
    sessionStarts: () => gateway.sessionStarts(),
    tick: () => driver.tick(),
  });
  return { gateway, driver, rest };
}

/** Everybody but the bot, "you" first. */
function peopleOf({ users, youId }: WorldData): Person[] {
  return [...users.values()]
    .filter((user) => !user.bot)
    .map((user) => ({ id: user.id, name: user.global_name ?? user.username }))
    .sort((a, b) => Number(b.id === youId) - Number(a.id === youId));
}

function upgrade(gateway: Gateway, port: number, request: IncomingMessage, socket: Duplex, head: Buffer) {
  const isGateway = request.url?.split("?")[0]?.replace(/\/$/, "") === "/gateway";
  // Bots send no Origin, browsers always do: no web page gets as far as trying tokens.
  const isFromPage = request.headers.origin !== undefined;
  if (isGateway && !isFromPage && isOwnHost(request.headers.host, port)) {
    gateway.handleUpgrade(request, socket, head);
  } else socket.destroy();
}

async function route(context: {
  request: IncomingMessage;
  response: ServerResponse;
  world: World;
  rest: RestServer;
  page: PageServer;
}): Promise<void> {
  const { request, response, world, rest, page } = context;
  try {
    const port = request.socket.localPort ?? 0;
    // A foreign name that points here (DNS rebinding) gets nothing, whatever it asks for.
    if (!isOwnHost(request.headers.host, port)) {
      page.refuse(response, "This address is not served here.");
      return;
    }
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    if (path.startsWith("/api/")) await rest.handle(request, response);
    else if (path.startsWith("/attachments/")) serveAttachment(world, request, response);
    else await page.handle(request, response);
  } catch {
    response.destroy(); // the client went away half way through its request
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
