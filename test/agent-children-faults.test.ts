/** Children of agents while the sidecar is killed: none is left behind. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, expect, test } from "vitest";
import { SIEGE_ENV } from "./support/agent-siege.ts";
import { openAgent, script, untilStatus } from "./support/agents.ts";
import { callTool } from "./support/mcp.ts";
import { type SpawnedSidecar, spawnSidecar } from "./support/sidecar.ts";
import { until } from "./support/wait.ts";

let sidecar: SpawnedSidecar;
afterEach(() => sidecar?.close());

const done = script("Work", { text: "Done." });

async function openParent(): Promise<void> {
  sidecar = await spawnSidecar(SIEGE_ENV);
  await openAgent(sidecar, "parent", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "parent", "idle");
}

const childrenOf = async () =>
  (await sidecar.client.listThreads({ status: "all" })).filter(({ parentId }) => parentId === "parent");

test("the sidecar is killed between a parent's kill and its children's: they end at the next start", async () => {
  await openParent();
  const spawn = (n: number) =>
    callTool(sidecar, {
      name: "spawn_thread",
      threadId: "parent",
      callId: String(n),
      input: { prompt: done, mode: "async" },
    });
  // Together, and there is room for eight.
  const told = await Promise.all(Array.from({ length: 10 }, (_, n) => spawn(n)));
  expect(told.filter((answer) => answer.startsWith("Started"))).toHaveLength(8);
  expect(told.filter((answer) => answer.includes("8 open children"))).toHaveLength(2);
  const db = new Database(join(sidecar.stateDir, "threadmux.db"), { readonly: true });
  const status = db.prepare("SELECT status FROM threads WHERE thread_id = 'parent'").pluck();
  const killing = sidecar.client.killThread("parent").catch(() => undefined);
  await until("the parent's end", () => status.get() === "killed", { intervalMs: 1 });
  await sidecar.kill9();
  const open = db.prepare("SELECT count(*) FROM threads WHERE status <> 'killed'").pluck();
  expect(open.get()).toBeGreaterThan(0);
  db.close();
  await killing;
  await sidecar.start();
  await until("its children's", async () => (await childrenOf()).every(({ status }) => status === "killed"));
  expect(await childrenOf()).toHaveLength(8);
});
