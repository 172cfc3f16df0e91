/** Children and files of agents while the sidecar is killed: each once, and none left behind. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "../shared/random.ts";
import { SIEGE_ENV } from "./support/agent-siege.ts";
import { openAgent, script, transcriptOf, untilStatus } from "./support/agents.ts";
import { inFull } from "./support/faults.ts";
import { callTool, type ToolUse } from "./support/mcp.ts";
import { type SpawnedSidecar, spawnSidecar } from "./support/sidecar.ts";
import { until, untilValue } from "./support/wait.ts";

let sidecar: SpawnedSidecar;
afterEach(() => sidecar?.close());

const KILLS = inFull(100, 5);
const done = script("Work", { text: "Done." });

async function openParent(): Promise<void> {
  sidecar = await spawnSidecar(SIEGE_ENV);
  await openAgent(sidecar, "parent", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "parent", "idle");
}

const childrenOf = async () =>
  (await sidecar.client.listThreads({ status: "all" })).filter(({ parentId }) => parentId === "parent");

test(`spawn_thread and send_file do what they do once, over ${KILLS} kills of the sidecar in the middle`, {
  timeout: inFull(900_000, 90_000),
}, async () => {
  await openParent();
  const random = seededRandom(11);
  for (let kill = 0; kill < KILLS; kill++) {
    writeFileSync(join(sidecar.reposDir, "parent", `file-${kill}`), `words ${kill}`);
    const calls: ToolUse[] = [
      {
        name: "spawn_thread",
        threadId: "parent",
        callId: `s${kill}`,
        input: { prompt: done, mode: "async" },
      },
      { name: "send_file", threadId: "parent", callId: `f${kill}`, input: { path: `file-${kill}` } },
    ];
    const cutOff = calls.map((call) => callTool(sidecar, call).catch(() => undefined));
    await sleep(random() * 150); // where it is killed is the test's random choice
    await sidecar.kill9();
    await Promise.all(cutOff);
    await sidecar.start();
    for (const call of calls)
      expect(await callTool(sidecar, call)).toMatch(call.name === "send_file" ? /^Sent/ : /^Started/);
    const [child, ...others] = (await childrenOf()).filter(({ status }) => status !== "killed");
    expect(others).toEqual([]);
    await sidecar.client.killThread(child?.threadId ?? "");
  }
  const told = async () => {
    const types = (await transcriptOf(sidecar, "parent")).map(({ type }) => type);
    return ["thread_spawned", "file_sent"].map((one) => types.filter((type) => type === one).length);
  };
  await untilValue("all to be told", told, (counts) => counts.every((count) => count >= KILLS));
  expect(await told()).toEqual([KILLS, KILLS]);
  expect(await childrenOf()).toHaveLength(KILLS);
});

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
