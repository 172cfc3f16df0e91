/** The real program in a directory that brings a hook and an MCP server: neither runs before a person says so. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentThread, says } from "../support/agent-threads.ts";
import { bringHooks } from "../support/trust.ts";
import { until } from "../support/wait.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

const open = (args: string[] = []): AgentThread =>
  real.open({ program: real.program(args), timeouts: { idleSeconds: 1 } });

async function askIn(thread: AgentThread) {
  writeFileSync(join(thread.dir, "CLAUDE.md"), "The word of this repository is kumquat.");
  const brought = bringHooks(thread.dir);
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  const { requestId } = await thread.event("permission_request");
  expect(await thread.ended()).toBe(0);
  expect(brought.hasRun()).toEqual([]);
  return { ...brought, requestId };
}

async function turnOf(thread: AgentThread): Promise<void> {
  thread.start();
  await thread.event("turn_end");
  await thread.ended();
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Hello."]);
}

// Promise: S9
test("trusted: the hook and the server run", async () => {
  const thread = open();
  const { requestId, hasRun } = await askIn(thread);
  thread.answer(requestId, "trust");
  await turnOf(thread);
  await until("both to have run", () => hasRun().length === 2);
  expect(real.model.timesInContext("kumquat")).toBe(1);
});

test("without them: neither runs, and its CLAUDE.md is not read", async () => {
  const thread = open();
  const { requestId, hasRun } = await askIn(thread);
  thread.answer(requestId, "without");
  await turnOf(thread);
  expect(hasRun()).toEqual([]);
  expect(real.model.timesInContext("kumquat")).toBe(0);
});

test("without them, although the person's own arguments name the project's settings", async () => {
  const thread = open(["--setting-sources", "user,project,local"]);
  const { requestId, hasRun } = await askIn(thread);
  thread.answer(requestId, "without");
  await turnOf(thread);
  expect(hasRun()).toEqual([]);
});
