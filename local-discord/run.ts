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
import { createWorldData, World } from "./state.ts";
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
  const now = options.now ?? Date.now;
  const { stateFile } = options;
  const data =
    (stateFile === undefined ? undefined : loadWorldData(stateFile)) ??
    createWorldData({ now: now(), ...(options.users ? { users: options.users } : {}) });
  const limits = mergeLimits(options.limits);
  const world = new World({
    data,
    now,
    limits,
    files: new FileStore(stateFile === undefined ? undefined : `${stateFile}.files`),
  });
  const releasers = new Releasers();
  // First in, last out: what the closing of everything else changes is saved too.
  let saver: Saver | undefined;
  releasers.add("state file", () => saver?.close());
  const stats = new Stats();
  const gatewayUrl = () => `${world.origin.replace("http:", "ws:")}/gateway`;
  const gateway = new Gateway({
    world,
    stats,
    url: gatewayUrl,
    ...(options.heartbeatIntervalMs === undefined
      ? {}
      : { heartbeatIntervalMs: options.heartbeatIntervalMs }),
    ...(options.sessionTtlMs === undefined ? {} : { sessionTtlMs: options.sessionTtlMs }),
  });
  const driver = new Driver({ world, gateway, stats });
  const rest = new RestServer({
    world,
    limiter: new RateLimiter(limits, now),
    stats,
    findFault: (request) => driver.faults.rest?.(request),
    gatewayUrl,
    sessionStarts: () => gateway.sessionStarts(),
    tick: () => driver.tick(),
  });
  const page = new PageServer({ world, key: randomBytes(32).toString("base64url") });

  const server = createServer((request, response) => {
    void route({ request, response, world, rest, page });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const isGateway = request.url?.split("?")[0]?.replace(/\/$/, "") === "/gateway";
    // Bots send no Origin, browsers always do: no web page gets as far as trying tokens.
    const isFromPage = request.headers.origin !== undefined;
    if (isGateway && !isFromPage && isOwnHost(request.headers.host, portOf(server))) {
      gateway.handleUpgrade(request, socket, head);
    } else socket.destroy();
  });
  try {
    await listen(server, host, options.port ?? 0);
  } catch (error) {
    gateway.close();
    throw error;
  }
  const port = portOf(server);
  world.origin = `http://${host === "::1" ? "[::1]" : host}:${port}`;
  releasers.add("server", () => stop(server));
  // Before the server: it waits for upgraded connections too.
  releasers.add("gateway", () => gateway.close());
  releasers.add("page", () => page.close());
  // Only now: whoever has the port may be using the file.
  if (stateFile !== undefined) saver = new Saver(stateFile, world);
  const ticker = setInterval(() => driver.tick(), TICK_MS);
  ticker.unref();
  releasers.add("clock", () => clearInterval(ticker));

  const people = [...data.users.values()]
    .filter((user) => !user.bot)
    .map((user) => ({ id: user.id, name: user.global_name ?? user.username }))
    .sort((a, b) => Number(b.id === data.youId) - Number(a.id === data.youId));
  return {
    apiUrl: `${world.origin}/api`,
    pageUrl: `${world.origin}/#key=${page.key}`,
    origin: world.origin,
    port,
    get botToken() {
      return data.botToken;
    },
    applicationId: data.applicationId,
    guildId: data.guildId,
    channelId: data.channelId,
    you: people.find((person) => person.id === data.youId) ?? { id: data.youId, name: "You" },
    users: people,
    driver,
    close: () => releasers.close(),
  };
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
