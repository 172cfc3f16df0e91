/** The tools of a server that is away when the engine starts. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { History } from "./history.ts";
import { findMcpTools } from "./mcp.ts";
import { Output } from "./output.ts";
import { Toolbox } from "./toolbox.ts";

function start(port: number): Promise<Server> {
  const server = createServer((_request, response) => {
    const tools = [{ name: "look", inputSchema: { type: "object" } }];
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } }));
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

test("they are there once it is, which is told once; until then that they are not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tmx-toolbox-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const first = await start(0);
  const { port } = first.address() as AddressInfo;
  await stop(first);
  const file = join(folder, "mcp.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { web: { url: `http://127.0.0.1:${port}/` } } }));
  const servers = { file, allowed: [] };
  const mcp = await findMcpTools(servers);
  expect(mcp.problems).toEqual([expect.stringMatching(/^The tools of web are not there: .*ECONNREFUSED/)]);
  const said: string[] = [];
  const output = new Output(new History(), (bytes) => said.push(bytes.toString()));
  const tools = new Toolbox({ own: [], servers, mcp, result: undefined }, output);
  const { signal } = new AbortController();
  await tools.look(signal);
  expect([tools.names, said]).toEqual([[], []]);
  const again = await start(port);
  try {
    await expect
      .poll(async () => {
        await tools.look(signal);
        return tools.names;
      })
      .toEqual(["mcp__web__look"]);
  } finally {
    await stop(again);
  }
  await tools.look(signal);
  expect(tools.find("mcp__web__look")?.name).toBe("mcp__web__look");
  expect(said).toEqual([expect.stringContaining("The tools of web are there now")]);
});
