/** A sidecar is killed while it hands a channel's agent over: there is one agent, in one directory, and nothing is lost. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { Vm } from "../../relay/sidecar/vm.ts";
import { STAND_IN, script, transcriptOf } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { aDiscordId } from "../support/ids.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const OPS = aDiscordId("300000000000000001");
const ALICE = aDiscordId("300000000000000011");
const preload = pathToFileURL(fileURLToPath(new URL("../fixtures/kill-at-change.mjs", import.meta.url))).href;
const DONE = { tools: [{ name: "mcp__threadmux__done", input: {} }] };
/** Every so many steps one is a kill's. */
const STRIDE = inFull(1, 5);
const TIMEOUT_MS = inFull(30 * 60_000, 240_000);

test("a kill at each step leaves one agent, which works in one directory and has every input once", {
  timeout: TIMEOUT_MS,
}, async ({ onTestFinished }) => {
  const sidecar = await spawnSidecar({ AGENT_PROGRAM: STAND_IN, MAX_AGENTS: "20" });
  onTestFinished(() => sidecar.close());
  for (const dir of ["a", "b"]) mkdirSync(join(sidecar.reposDir, dir));
  await sidecar.client.putPeople([{ id: ALICE, role: "maker", handle: "Alice" }]);
  await sidecar.client.putFixedChannels([{ id: OPS, dir: "a", mode: "main" }]);
  const { threadId } = await new Vm(sidecar.as(ALICE)).voice.findMain(OPS);
  const steps = join(sidecar.folders.home, "steps");
  const wanted: string[] = [];
  const write = async (): Promise<string> => {
    const inputId = `30000000000000${1_000 + wanted.length}`;
    wanted.push(inputId);
    await sidecar.as(ALICE).sendInput(threadId, {
      ...{
        text: script(`number ${wanted.length}`, DONE, { text: "ok", delayMs: 300 }),
        channelId: OPS,
        inputId,
      },
    });
    return inputId;
  };
  let stepCount = Number.POSITIVE_INFINITY;
  const ends = { completed: 0, taken: 0, left: 0 };
  for (let at = 1; at <= stepCount; at += STRIDE) {
    await sidecar.stop();
    writeFileSync(steps, "");
    const env = {
      NODE_OPTIONS: `--import ${preload}`,
      KILL_AT: `${at}`,
      KILL_FROM: "hand_over = ?",
      STEPS: steps,
    };
    await sidecar.start(env);
    const before = (await sidecar.client.getThread(threadId)).dir;
    const after = before === "a" ? "b" : "a";
    await write(); // its turn may run while the agent is handed over
    const isDone = await new Vm(sidecar.client).voice.handOver(OPS, after).then(
      () => true,
      () => false,
    );
    const taken = readFileSync(steps, "utf8").split("\n").length - 1;
    if (isDone) stepCount = Math.min(stepCount, taken);
    else await until("its end", () => isGone(sidecar));
    await sidecar.kill9();
    await sidecar.start({ NODE_OPTIONS: "", KILL_AT: "0" });
    const { dir, status } = await sidecar.client.getThread(threadId);
    expect([before, after]).toContain(dir);
    ends[isDone ? "completed" : dir === after ? "taken" : "left"]++;
    expect(status).not.toBe("killed");
    await write();
    await checkOnce(sidecar, threadId, wanted);
    const config = JSON.parse(
      readFileSync(join(sidecar.stateDir, "threads", threadId, "thread.json"), "utf8"),
    );
    expect(config.dir, `killed at ${at}`).toBe(join(sidecar.reposDir, dir));
    const open = (await sidecar.client.listThreads({})).filter(({ type }) => type === "agent");
    expect(open.map((thread) => thread.threadId)).toEqual([threadId]);
    expect(await new Vm(sidecar.client).voice.getMain(OPS)).toMatchObject({ threadId, dir });
  }
  expect(ends.left).toBe(1); // before it was noted
  expect(ends.taken).toBeGreaterThan(1);
  expect(ends.completed).toBe(1);
});

function isGone(sidecar: SpawnedSidecar): boolean {
  try {
    process.kill(sidecar.pid(), 0);
    return false;
  } catch {
    return true;
  }
}

/** Each input has been read, in one delivery whose work is over. */
async function checkOnce(
  sidecar: SpawnedSidecar,
  threadId: string,
  wanted: readonly string[],
): Promise<void> {
  await until("all inputs to be done", async () => {
    const events = await transcriptOf(sidecar, threadId);
    const done = events.flatMap((event) =>
      event.type === "delivery_update" && event.status === "completed" ? [event.deliveryId] : [],
    );
    const deliveries = events.flatMap((event) => (event.type === "delivery" ? [event] : []));
    return wanted.every((inputId) => {
      const held = deliveries.filter(({ messageIds }) => messageIds.includes(inputId));
      return held.length === 1 && done.filter((one) => one === held[0]?.deliveryId).length === 1;
    });
  });
}
