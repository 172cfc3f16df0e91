/** Files that agents send: `send_file` over the sidecar's MCP server, with the stand-in and with calls of our own. */
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { callTool } from "../support/mcp.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let talk: AgentTalk;
let dir: string;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  talk = new AgentTalk(all);
  dir = join(all.sidecar.reposDir, "app");
  mkdirSync(dir);
});
afterAll(() => all?.close());

const sends = (path: string, caption?: string) => ({
  tools: [{ name: "mcp__threadmux__send_file", input: { path, ...(caption && { caption }) } }],
});
const configOf = (threadId: string) => join(all.sidecar.stateDir, "threads", threadId, "mcp.json");

const call = (threadId: string, input: object, callId: string) =>
  callTool(all.sidecar, { threadId, name: "send_file", input, callId });

const filesIn = (threadId: string) =>
  all.discord.driver.messages(threadId).filter(({ attachments }) => attachments.length > 0);
const sentOf = async (threadId: string) =>
  (await transcriptOf(all.sidecar, threadId)).flatMap((event) => (event.type === "file_sent" ? [event] : []));

test("a file of the workspace is in the Discord thread once, also if the same call comes again", async () => {
  const report = randomBytes(200_000);
  writeFileSync(join(dir, "report.bin"), report);
  const threadId = await talk.open(
    script("Send it", sends("report.bin", "The *report*."), { text: "Sent." }),
    "app",
  );
  await talk.untilMessage(threadId, "Sent.");
  const message = await until("the file", () => filesIn(threadId)[0]);
  expect(message.content).toBe("📎 report.bin The \\*report\\*.");
  expect(all.discord.driver.attachment(message.attachments[0]?.id ?? "")).toEqual(report);
  expect(statSync(configOf(threadId)).mode & 0o777).toBe(0o600);

  expect(await call(threadId, { path: "report.bin" }, "again")).toContain("Sent report.bin");
  expect(await call(threadId, { path: "report.bin" }, "again")).toContain("Sent report.bin");
  await until("the second file", () => filesIn(threadId).length === 2);
  await all.stopRelay();
  await all.startRelay();
  talk.say(threadId, script("Go on", { text: "Gone on." }));
  await talk.untilMessage(threadId, "Gone on.");
  expect(filesIn(threadId)).toHaveLength(2);
  expect(await sentOf(threadId)).toHaveLength(2);
});

test("one that is too large by the time the relay comes is left out, and holds up nothing", async () => {
  const threadId = await talk.open(script("Hello", { text: "Hello." }), "app");
  await talk.untilMessage(threadId, "Hello.");
  await all.stopRelay();
  writeFileSync(join(dir, "log.txt"), "a line\n");
  expect(await call(threadId, { path: "log.txt" }, "log")).toContain("Sent log.txt (7 bytes)");
  const kept = join(all.sidecar.stateDir, "threads", threadId, "attachments", "log.txt");
  writeFileSync(kept, Buffer.alloc(10 * 1024 * 1024 + 1));
  await all.startRelay();
  talk.say(threadId, script("Go on", { text: "Gone on." }));
  await talk.untilMessage(threadId, "Gone on.");
  const shown = all.discord.driver.messages(threadId).filter(({ content }) => content.includes("log.txt"));
  expect(shown.map(({ attachments }) => attachments)).toEqual([[]]);
});

// Promise: S27
test("nothing outside of the workspace is sent, nothing that looks like a secret, nothing too large", async () => {
  const threadId = await talk.open(script("Hello", { text: "Hello." }), "app");
  await talk.untilMessage(threadId, "Hello.");
  writeFileSync(join(dir, ".env"), "KEY=1");
  writeFileSync(join(dir, "big.bin"), Buffer.alloc(10 * 1024 * 1024 + 1));
  symlinkSync(configOf(threadId), join(dir, "notes.txt"));
  symlinkSync(".env", join(dir, "harmless.txt"));
  const tried: [string, string][] = [
    ["../x", "no such file"],
    ["/etc/hostname", "outside"],
    ["notes.txt", "outside"],
    [configOf(threadId), "outside"],
    [".env", "secret"],
    ["harmless.txt", "secret"],
    ["big.bin", "10 MiB"],
    [".", "no file"],
  ];
  for (const [path, why] of tried) expect(await call(threadId, { path }, path), path).toContain(why);
  expect(await call(threadId, { path: 5 }, "x")).toContain("The input is wrong");
  expect(await sentOf(threadId)).toEqual([]);
  rmSync(join(dir, "notes.txt")); // the next agent there would be asked about it
});

// Promise: S27
test("a directory that was swapped for a link sends nothing, and a FIFO's writer goes on waiting", async () => {
  const swapped = join(all.sidecar.reposDir, "swapped");
  mkdirSync(swapped);
  const threadId = await talk.open(script("Hello", { text: "Hello." }), "swapped");
  await talk.untilMessage(threadId, "Hello.");
  execFileSync("mkfifo", [join(swapped, "pipe")]);
  const writer = spawn("sh", ["-c", ": > began; echo x > pipe; : > went-on"], { cwd: swapped });
  try {
    await until("the writer to begin", () => existsSync(join(swapped, "began")));
    expect(await call(threadId, { path: "pipe" }, "pipe")).toContain("it is no file");
    expect(existsSync(join(swapped, "went-on"))).toBe(false);
  } finally {
    writer.kill("SIGKILL");
  }
  const elsewhere = join(all.sidecar.folders.home, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "notes"), "somebody else's");
  rmSync(swapped, { recursive: true });
  symlinkSync(elsewhere, swapped);
  expect(await call(threadId, { path: "notes" }, "notes")).toContain(
    "outside of this thread's working directory",
  );
  expect(await sentOf(threadId)).toEqual([]);
});

// Promise: S27
test("a thread's token opens its own tools, nothing else, and dies with the thread", async () => {
  const { url, token, client } = all.sidecar;
  const threadId = await talk.open(script("Hello", { text: "Hello." }), "app");
  await untilStatus(all.sidecar, threadId, "idle");
  const own: string = JSON.parse(readFileSync(configOf(threadId), "utf8")).mcpServers.threadmux.headers
    .Authorization;
  const status = async (path: string, authorization: string) => {
    const headers = {
      authorization,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    return (await fetch(`${url}${path}`, { method: "POST", headers, body })).status;
  };
  expect(await status("/mcp", own)).toBe(200);
  expect(await status("/threads/output", own)).toBe(401);
  expect(await status("/mcp", `Bearer ${token}`)).toBe(401);
  expect(await status("/mcp", own.slice(0, -1))).toBe(401);
  await client.killThread(threadId);
  expect(await status("/mcp", own)).toBe(401);
});
