/** The real program begins a turn that it takes up only when a person's slow server is there. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { bash, says } from "../support/agent-threads.ts";
import { makeFolder } from "../support/folders.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

/** Answers its first request after seven seconds. */
const SLOW_SERVER = `
  import { createInterface } from "node:readline";
  const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    const capabilities = { tools: {} };
    const { protocolVersion } = params ?? {};
    const told = { protocolVersion, capabilities, serverInfo: { name: "slow", version: "1" } };
    if (method === "initialize") setTimeout(() => reply(id, told), 7_000);
    if (method === "tools/list") reply(id, { tools: [] });
  }
`;

test("an answer that was given while the engine was away reaches its call, though its servers are slow", {
  timeout: 120_000,
}, async () => {
  const { path, remove } = makeFolder();
  const server = join(path, "slow.mjs");
  writeFileSync(server, SLOW_SERVER);
  const servers = join(path, "servers.json");
  const slow = { command: process.execPath, args: [server] };
  writeFileSync(servers, JSON.stringify({ mcpServers: { slow } }));
  const thread = real.open({ program: real.program(["--mcp-config", servers]) });
  thread.write(says("make", { text: "Making.", tools: [bash("mkdir made")] }, { text: "made it" }));
  thread.start();
  const { requestId } = await thread.event("permission_request");
  signal(thread.enginePid(), "SIGKILL");
  await thread.ended();
  thread.answer(requestId, "once");
  thread.start();
  await until("the turn to be taken up", () => thread.of("turn_start").length > 1, { timeoutMs: 60_000 });
  await until("idle", () => statusOf(thread.fold()) === "idle", { timeoutMs: 60_000 });
  expect(existsSync(join(thread.dir, "made"))).toBe(true);
  expect(thread.of("agent_message").at(-1)?.text).toBe("made it");
  expect(thread.of("turn_end").map(({ stopReason }) => stopReason)).toEqual(["interrupted", "end_turn"]);
  remove();
});
