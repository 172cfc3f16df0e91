/**
 * The way out of a browser: all of Chromium's traffic goes through this proxy, which resolves each host, judges it, and
 * connects to the address that was judged. So neither a redirect nor a name that changes its address leads inside.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { hostOf, portOf } from "../shared/browser/address.ts";
import type { OpenedHosts } from "../shared/browser/hosts.ts";
import { HostError, resolveHost } from "../shared/browser/resolve.ts";
import { errorText } from "../shared/errors.ts";
import { withDeadline } from "../shared/lifecycle.ts";

const CONNECT_MS = 10_000;
const IDLE_MS = 120_000;
/** Chromium opens six a host; a page of a hundred hosts has to wait. */
const MAX_CONNECTIONS = 256;
/** Headers that are the proxy's own matter. */
const HOP_HEADERS = ["proxy-authorization", "proxy-connection", "connection", "keep-alive", "te", "upgrade"];

export interface OpenProxy {
  readonly port: number;
  close(): void;
}

/** @param onRefused is told each `host:port` that was not reached, and why */
export async function startProxy(
  opened: OpenedHosts,
  onRefused: (place: string, error: HostError) => void,
): Promise<OpenProxy> {
  const open = async (host: string, port: number): Promise<Socket> => {
    try {
      return await connectFirst(await resolveHost(host, port, opened), port);
    } catch (error) {
      const told = error instanceof HostError ? error : new HostError(`${host}: ${errorText(error)}`, false);
      onRefused(`${host}:${port}`, told);
      throw told;
    }
  };
  const server = createServer((request, response) => void forward(open, request, response));
  server.maxConnections = MAX_CONNECTIONS;
  server.headersTimeout = IDLE_MS;
  server.on("connect", (request, client: Socket, head: Buffer) => void tunnel(open, request, client, head));
  // WebSockets come through tunnels; any other upgrade is none that a browser makes.
  server.on("upgrade", (_request, client: Socket) => client.destroy());
  await listen(server);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

type Open = (host: string, port: number) => Promise<Socket>;

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
}

/** HTTPS, and WebSockets of both kinds. */
async function tunnel(
  open: Open,
  { url = "" }: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  client.on("error", () => client.destroy());
  // A tunnel's target has its port, also where that is a scheme's usual one.
  const target = readTarget(`${url.endsWith(":80") ? "http" : "https"}://${url}`);
  if (target === undefined) return void client.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  try {
    const server = await open(target.host, target.port);
    client.write("HTTP/1.1 200 OK\r\n\r\n");
    server.write(head);
    for (const socket of [client, server]) socket.setTimeout(IDLE_MS, () => socket.destroy());
    // The one's end is the other's; errors are ends.
    pipeline(client, server, () => server.destroy());
    pipeline(server, client, () => client.destroy());
  } catch (error) {
    if (client.writable)
      client.end(`HTTP/1.1 ${isClosed(error) ? "403 Forbidden" : "502 Bad Gateway"}\r\n\r\n`);
  }
}

/** Plain HTTP: the request's target is the whole address. */
async function forward(open: Open, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = "" } = incoming;
  const target = url.startsWith("http://") ? readTarget(url) : undefined;
  if (target === undefined) return void response.writeHead(400).end();
  let socket: Socket;
  try {
    socket = await open(target.host, target.port);
  } catch (error) {
    const status = isClosed(error) ? 403 : 502;
    return void response
      .writeHead(status, { "content-type": "text/plain; charset=utf-8" })
      .end(`threadmux: ${errorText(error)}\n`);
  }
  const outgoing = request({
    createConnection: () => socket,
    method: incoming.method,
    path: target.path,
    headers: withoutHops(incoming.headers),
    setHost: false,
  });
  outgoing.setTimeout(IDLE_MS, () => outgoing.destroy());
  response.on("close", () => outgoing.destroy());
  outgoing.on("response", (reply) => {
    response.writeHead(reply.statusCode ?? 502, withoutHops(reply.headers));
    pipeline(reply, response, () => undefined);
  });
  outgoing.on("error", () => {
    if (!response.headersSent) response.writeHead(502);
    response.end();
  });
  pipeline(incoming, outgoing, () => undefined);
}

/** @param url with a scheme, which says the usual port */
function readTarget(url: string): { host: string; port: number; path: string } | undefined {
  try {
    const target = new URL(url);
    if (target.hostname === "") return undefined;
    return { host: hostOf(target), port: portOf(target), path: `${target.pathname}${target.search}` };
  } catch {
    return undefined; // no address
  }
}

function withoutHops(headers: IncomingMessage["headers"]): IncomingMessage["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.includes(name)));
}

function isClosed(error: unknown): boolean {
  return error instanceof HostError && error.isClosed;
}

/** The first address that takes the connection. @throws HostError */
async function connectFirst(addresses: readonly string[], port: number): Promise<Socket> {
  let last = "there is no address";
  for (const address of addresses) {
    const socket = connect({ host: address, port });
    try {
      await withDeadline(connected(socket), CONNECT_MS, `connecting to ${address}`);
      return socket;
    } catch (error) {
      socket.destroy();
      last = errorText(error);
    }
  }
  throw new HostError(`no connection to ${addresses[0] ?? "it"} (${last})`, false);
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      socket.on("error", () => socket.destroy());
      resolve();
    });
  });
}
