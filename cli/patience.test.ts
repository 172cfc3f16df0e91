/** Whom the command line waits for: a sidecar that is slow or was there before, not one that never was. */
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Server as SocketServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { SidecarClient } from "../shared/client.ts";
import { Patience } from "./patience.ts";

const servers: (Server | SocketServer)[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    if ("closeAllConnections" in server) server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(server: Server | SocketServer, port = 0): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const at = (port: number) =>
  new SidecarClient({ url: `http://127.0.0.1:${port}`, token: "t".repeat(32), timeoutMs: 100 });
const healthy = '{"threads":[]}';

function patience() {
  const notes: number[] = [];
  return { notes, patience: new Patience(async () => void notes.push(1)) };
}

test("one that was never there is told at once, whatever the system calls it", async () => {
  const hangsUp = await listen(createSocketServer((socket) => void socket.destroy()));
  const nobody = await listen(createServer());
  await new Promise((resolve) => servers.pop()?.close(resolve));
  for (const port of [nobody, hangsUp]) {
    const { patience: one, notes } = patience();
    await expect(one.call(() => at(port).listThreads())).rejects.toMatchObject({ code: "unavailable" });
    expect(notes).toEqual([]);
  }
});

test("one that has taken the request and is slow is waited for", async () => {
  let asked = 0;
  const port = await listen(createServer((_, response) => void (++asked > 2 && response.end(healthy))));
  const { patience: one, notes } = patience();
  expect(await one.call(() => at(port).listThreads())).toEqual([]);
  expect([asked, notes.length]).toEqual([3, 1]);
});

test("one that goes away later is waited for", async () => {
  const server = createServer((_, response) => void response.end(healthy));
  const port = await listen(server);
  const { patience: one } = patience();
  const client = at(port);
  await one.call(() => client.listThreads());
  servers.pop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const again = one.call(() => client.listThreads());
  await listen(
    createServer((_, response) => void response.end(healthy)),
    port,
  );
  expect(await again).toEqual([]);
});
