/** The bench's row of a terminal in the browser: a key's echo through the sidecar, and through node-pty alone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { percentile, type Row, ratioRow, times, withSidecar } from "./measure.ts";

interface AttachOptions {
  /** Keys that are measured, and keys before them. */
  count: number;
  warmUp: number;
  /** A tmux server of the baseline's own, and its socket. */
  bare: (...args: string[]) => Promise<string>;
  bareSocket: string;
}

export async function rowAttach({ count, warmUp, bare, bareSocket }: AttachOptions): Promise<Row[]> {
  const ours = await withSidecar({}, async ({ url, headers, open }) => {
    await open("key", "stty raw -echo; cat");
    await sleep(300);
    return attachEcho(
      new WebSocket(`${url.replace("http", "ws")}/thread/key/attach`, { headers }),
      warmUp,
      count,
    );
  });
  await bare("new-session", "-d", "-s", "key", "stty raw -echo; exec cat", ";", "set", "-g", "status", "off");
  // A process of its own, as ours is: within this one, a key would reach the server without leaving its event loop.
  const server = spawn(process.execPath, ["-e", BARE_ATTACH_SERVER, bareSocket], {
    cwd: new URL("..", import.meta.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [port] = (await once(server.stdout, "data")) as [Buffer];
  const naive = await attachEcho(new WebSocket(`ws://127.0.0.1:${port}`), warmUp, count);
  server.kill("SIGKILL");
  await bare("kill-server");
  return [
    ratioRow("key → echo through /attach, p50 (ms)", percentile(ours, 50), percentile(naive, 50), {
      atMost: 1.5,
    }),
  ];
}

/** Key → echo over a WebSocket of binary frames. */
async function attachEcho(socket: WebSocket, warmUp: number, count: number): Promise<number[]> {
  let onData: () => void = () => undefined;
  socket.on("message", (_data, isBinary) => isBinary && onData());
  await new Promise((resolve) => socket.once("open", resolve));
  await sleep(1_000);
  const press = () =>
    new Promise<void>((resolve) => {
      onData = resolve;
      socket.send(Buffer.from("x"));
    });
  await times(warmUp, press);
  const taken = await times(count, press);
  socket.close();
  return taken;
}

const BARE_ATTACH_SERVER = `
  const { spawn } = require("node-pty");
  const { WebSocketServer } = require("ws");
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("connection", (socket) => {
    const args = ["-u", "-S", process.argv[1], "attach-session", "-t", "=key:"];
    const pty = spawn("tmux", args, { name: "xterm-256color", cols: 80, rows: 24, encoding: null });
    pty.onData((data) => socket.send(data));
    socket.on("message", (data) => pty.write(data));
    socket.on("close", () => pty.kill());
  });
  server.once("listening", () => process.stdout.write(String(server.address().port)));`;
