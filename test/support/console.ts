/** The console from outside: its bundle, its sessions, its sockets, its browser. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { type ClientOptions, type RawData, WebSocket } from "ws";
import { type ServerFrame, serverFrameSchema } from "../../shared/attach.ts";
import { startSidecar, type TestSidecar } from "./sidecar.ts";
import { untilValue } from "./wait.ts";

const CHROMIUM = "/usr/bin/chromium";

/** Builds the pages beside their sources, if they are not current. */
export function buildPages(): void {
  execFileSync(process.execPath, ["scripts/build.mjs", "--pages"], { stdio: "inherit" });
}

/** A sidecar that takes ten viewers in all, and gives a slow one 1.5 s. */
export function startForViewers(): Promise<TestSidecar> {
  return startSidecar({ maxThreads: 100 }, { viewersLimits: { maxViewers: 10, stallTimeoutMs: 1_500 } });
}

/** The tmux clients on a thread, without the sidecar's own. */
export async function countClients(
  { folders }: Pick<TestSidecar, "folders">,
  threadId: string,
): Promise<number> {
  const clients = await folders.tmux("list-clients", "-F", "#{session_name}");
  return clients.split("\n").filter((name) => name === `thread-${threadId}`).length;
}

export async function startBrowser(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`${CHROMIUM} is missing; install it with: apt-get install chromium`);
  }
  // Root in a container has no user namespaces to build Chromium's sandbox of.
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
}

export interface Signed {
  status: number;
  /** Empty where the token was refused. */
  secret: string;
  headers: Headers;
}

export async function signIn(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<Signed> {
  const reply = await fetch(`${url}/console/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  const { secret = "" } = (await reply.json()) as { secret?: string };
  return { status: reply.status, secret, headers: reply.headers };
}

/** The subprotocols that the console's page names on its socket. */
export function protocolsOf(secret: string): string[] {
  return ["threadmux", `threadmux.session.${secret}`];
}

export interface TestViewer {
  socket: WebSocket;
  /** All text frames. */
  frames: ServerFrame[];
  /** All bytes, as text. */
  screen: () => string;
  bytes: () => number;
  type: (text: string) => void;
  /** Resolves with the close code once the socket is closed. */
  closed: Promise<number>;
  untilScreen: (text: string) => Promise<string>;
  untilFrame: <T extends ServerFrame["type"]>(
    type: T,
    expected?: (frame: Extract<ServerFrame, { type: T }>) => boolean,
  ) => Promise<Extract<ServerFrame, { type: T }>>;
  close: () => Promise<number>;
}

/** Attaches by bearer token unless other headers are given; resolves once the socket is open. */
export async function attach(
  { url, token }: { url: string; token: string },
  threadId: string,
  {
    query = "",
    headers = { authorization: `Bearer ${token}` },
    protocols = [],
    options = {},
  }: {
    query?: string;
    headers?: Record<string, string>;
    protocols?: string[];
    options?: ClientOptions;
  } = {},
): Promise<TestViewer> {
  const address = `${url.replace(/^http/, "ws")}/thread/${threadId}/attach${query}`;
  const socket = new WebSocket(address, protocols, { headers, ...options });
  const frames: ServerFrame[] = [];
  const chunks: Buffer[] = [];
  let bytes = 0;
  socket.on("message", (data: RawData, isBinary: boolean) => {
    if (!Buffer.isBuffer(data)) throw new Error("ws hands out buffers");
    if (!isBinary) return void frames.push(serverFrameSchema.parse(JSON.parse(data.toString())));
    chunks.push(data);
    bytes += data.length;
  });
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => undefined); // the close that follows is what tests look at
  const screen = () => Buffer.concat(chunks).toString("utf8");
  return {
    socket,
    frames,
    screen,
    bytes: () => bytes,
    type: (text) => socket.send(Buffer.from(text)),
    closed,
    untilScreen: (text) =>
      untilValue(`${JSON.stringify(text)} on the screen of ${threadId}`, screen, (all) => all.includes(text)),
    untilFrame: async (type, expected = () => true) => {
      type Wanted = Extract<ServerFrame, { type: typeof type }>;
      const find = () =>
        frames.find((frame): frame is Wanted => frame.type === type && expected(frame as Wanted));
      await untilValue(
        `a frame ${type} among ${threadId}'s`,
        () => [...frames],
        () => find() !== undefined,
      );
      return find() as Wanted;
    },
    close: () => {
      socket.close();
      return closed;
    },
  };
}

/** The HTTP status with which an attempt to attach is refused. */
export async function refusedWith(attempt: Promise<TestViewer>): Promise<number> {
  try {
    await (await attempt).close();
  } catch (error) {
    const status = /Unexpected server response: (\d+)/.exec(String(error))?.[1];
    if (status !== undefined) return Number(status);
    throw error;
  }
  throw new Error("the socket was expected to be refused");
}
