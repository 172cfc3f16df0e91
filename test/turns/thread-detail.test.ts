/** `GET /thread/:id`: how a thread was made to work, where it comes from, and how far it is. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CreateRequest } from "../../shared/api.ts";
import { STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal } from "../support/threads.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar?.close());

async function begin(threadId: string, agent: CreateRequest["agent"] = {}): Promise<void> {
  const command = script("hello", { text: "One." });
  await sidecar.client.createThread({ threadId, type: "agent", dir: "shop", command, agent });
}
const detail = (threadId: string) => sidecar.client.getThread(threadId);

test("its configuration comes back, without what is secret", async () => {
  const asked = {
    ...{ model: "opus", systemPrompt: "Be kind.", permissionMode: "plan", tags: ["ci", "nightly"] },
    ...{ limits: { turns: 9 }, params: { thinking: "high", maxOutputTokens: 9_000 } as const },
    needs: ["images"] as "images"[],
  };
  await begin("asked", asked);
  const { agent, tags, ...thread } = await detail("asked");
  const { tags: _, ...rest } = asked;
  expect(agent).toMatchObject({ ...rest, engine: "claude", mode: "conversation", workspace: "shared" });
  expect(tags).toEqual(["ci", "nightly"]);
  expect(thread).toMatchObject({ lifecycle: "active", root: "asked", branchedFrom: null, spawnedBy: null });
  const program = { engine: "command", program: "cat", args: ["--api-key", "abc", "-u"] } as const;
  await begin("program", { ...program, args: [...program.args] });
  expect((await detail("program")).agent).toMatchObject({ ...program, args: ["--api-key", "…", "-u"] });
  const by = (command: string) => ({ at: "before_step", by: { command } }) as const;
  const harmless = "grep -q 'a b' \"$FILE\" || exit 1";
  const gates = [
    by("curl -H 'Authorization: Bearer abc' http://me:abc@host/"),
    by(harmless),
    by("echo 'abc"),
  ];
  await begin("gates", { gates });
  expect((await detail("gates")).agent?.gates).toMatchObject([
    by("curl -H Authorization: … http://me:…@host/"),
    by(harmless),
    by("…"),
  ]);
  const ids = ["asked", "program", "gates"];
  const text = JSON.stringify(await Promise.all(ids.map(detail)));
  expect(text).not.toMatch(/mcpConfigFile|abc/);
  await openTerminal(sidecar.client, "terminal", "cat");
  expect(await detail("terminal")).toMatchObject({ agent: null, tags: [], lifecycle: "active" });
});

test("a single thread that is through is completed, and takes nothing more", async () => {
  await begin("single", { mode: "single" });
  await untilStatus(sidecar, "single", "completed");
  expect(await detail("single")).toMatchObject({ lifecycle: "active", agent: { mode: "single" } });
  expect((await sidecar.client.readTranscript("single")).status).toBe("completed");
  expect(await refusal(sidecar.client.sendInput("single", { text: "more" }))).toMatchObject({
    code: "thread_single",
  });
  const items = await sidecar.client.listInbox();
  expect(items.filter(({ threadId }) => threadId === "single")).toMatchObject([{ kind: "end" }]);
  await sidecar.restart();
  expect((await detail("single")).status).toBe("completed");
});

test("branching and spawning are told apart, down to the root, and a branched one is locked", async () => {
  await begin("first");
  await untilStatus(sidecar, "first", "idle");
  await sidecar.client.branchThread("first", { threadId: "second", text: script("and", { text: "Two." }) });
  await untilStatus(sidecar, "second", "idle");
  const input = { prompt: script("child", { text: "Done." }) };
  await callTool(sidecar, { threadId: "second", name: "spawn_thread", input });
  const child = (await sidecar.client.listThreads()).find(({ parentId }) => parentId === "second");
  expect(await detail(child?.threadId ?? "")).toMatchObject({
    ...{ root: "first", branchedFrom: null, spawnedBy: "second" },
  });
  expect(await detail("second")).toMatchObject({ root: "first", branchedFrom: "first", spawnedBy: null });
  expect(await detail("first")).toMatchObject({ lifecycle: "locked", root: "first" });
  await sidecar.client.killThread("second");
  expect(await detail("second")).toMatchObject({ lifecycle: "dead", branchedFrom: "first" });
});
