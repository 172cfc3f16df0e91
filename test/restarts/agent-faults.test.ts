/** Agent threads of a real sidecar under kill -9 of everything: nothing is lost, nothing happens twice. */
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import {
  contextOf,
  countIn,
  folderOf,
  inboxSize,
  processesOf,
  runnersOf,
  SIEGE_ENV,
  Siege,
  type Victim,
} from "../support/agent-siege.ts";
import { eventsIn, findFaults, findRowFaults } from "../support/agent-truth.ts";
import { openAgent, script, untilStatus } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { makeSidecarFolders, type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { canMount, mountDisk, type SmallDisk } from "../support/small-disk.ts";
import { until } from "../support/wait.ts";

let spawned: SpawnedSidecar | undefined;
let disk: SmallDisk | undefined;
afterEach(async () => {
  disk?.unmount();
  disk = undefined;
  await spawned?.close();
});

async function spawn(): Promise<SpawnedSidecar> {
  spawned = await spawnSidecar(SIEGE_ENV);
  return spawned;
}

/** Of one victim, and of several. */
const [KILLS, MIXED_KILLS] = inFull([20, 20], [2, 4]);
const HOLDS = inFull(5, 1);
const THREADS = ["a", "b"];

const victims: Record<string, readonly Victim[]> = {
  "of the runner": ["runner"],
  "of the engine": ["engine"],
  "of runner and engine": ["both"],
  "of the sidecar": ["sidecar"],
  "of the tmux server": ["tmux"],
  "of any of them": ["runner", "engine", "both", "sidecar", "tmux"],
};

// Promise: R7
describe("kill -9 at random moments, over bursts, asks, tools and Stop", () => {
  test.each(Object.entries(victims))("%s", { timeout: inFull(300_000, 150_000) }, async (_name, chosen) => {
    const sidecar = await spawn();
    const random = seededRandom(11);
    const kills = chosen.length > 1 ? MIXED_KILLS : KILLS;
    const report = await new Siege({
      sidecar,
      threadIds: THREADS,
      victims: chosen,
      kills,
      random,
    }).run();
    expect(Object.values(report.kills).reduce((sum, count) => sum + count, 0)).toBe(kills);
    expect(report.twins).toEqual([]);
    expect(THREADS.flatMap((threadId) => findFaults(sidecar, threadId, report))).toEqual([]);
    expect(await sidecar.client.listAsks()).toEqual([]);
    await sidecar.stop();
    expect(THREADS.flatMap((threadId) => findRowFaults(sidecar, threadId))).toEqual([]);
    await sidecar.start();
    for (const threadId of THREADS) await sidecar.client.killThread(threadId);
    const folders = THREADS.map((threadId) => folderOf(sidecar, threadId));
    await until("no process of a thread to be left", () => folders.flatMap(processesOf).length === 0);
  });
});

test.runIf(canMount)(
  "a disk that is full now and again: nothing is lost, nothing happens twice",
  { timeout: inFull(300_000, 150_000) },
  async () => {
    const folders = makeSidecarFolders();
    disk = mountDisk(folders.stateDir, 160);
    const sidecar = await spawnSidecar(SIEGE_ENV, folders);
    spawned = sidecar;
    const options = { sidecar, threadIds: THREADS, kills: MIXED_KILLS, random: seededRandom(11), disk };
    const report = await new Siege({ ...options, victims: ["disk", "engine"] }).run();
    expect(report.twins).toEqual([]);
    expect(THREADS.flatMap((threadId) => findFaults(sidecar, threadId, report))).toEqual([]);
    expect(await sidecar.client.listAsks()).toEqual([]);
  },
);

/** Kills the sidecar as soon as the inbox has grown: the row that says so is not written yet. */
async function killAtNextLine(
  sidecar: SpawnedSidecar,
  folder: string,
  request: Promise<unknown>,
): Promise<void> {
  const size = inboxSize(folder);
  const settled = request.catch(() => undefined);
  // The request goes out with the next turn of the loop; then nothing but the kill may come in between.
  await until("the line", () => inboxSize(folder) > size, { intervalMs: 0 });
  process.kill(sidecar.pid(), "SIGKILL");
  await settled;
  await sidecar.kill9();
  await sidecar.start();
}

test("killed between the inbox and its row: a message that is sent again counts once", {
  timeout: 120_000,
}, async () => {
  const sidecar = await spawn();
  await openAgent(sidecar, "row", script("first", { text: "begun" }));
  await untilStatus(sidecar, "row", "idle");
  const folder = folderOf(sidecar, "row");
  for (let hold = 1; hold <= HOLDS; hold++) {
    const input = { text: script(`please H${hold}H.`, { text: "done" }), inputId: `H${hold}H` };
    await killAtNextLine(sidecar, folder, sidecar.client.sendInput("row", input));
    await sidecar.client.sendInput("row", input);
    await untilStatus(sidecar, "row", "idle");
    const messages = eventsIn(folder).filter(({ type }) => type === "user_message");
    expect(messages).toHaveLength(1 + hold);
    const context = () => contextOf(sidecar.folders.home, join(sidecar.reposDir, "row"));
    await until("the agent to have it", () => countIn(context(), `please H${hold}H.`) > 0);
    expect(countIn(context(), `please H${hold}H.`)).toBe(1);
  }
});

test("killed between an answer and its row: another answer is refused", { timeout: 120_000 }, async () => {
  const sidecar = await spawn();
  const ask = { tools: [{ name: "Bash", input: { command: "echo done >> effects" } }] };
  await openAgent(sidecar, "row", script("first", ask, { text: "begun" }));
  const folder = folderOf(sidecar, "row");
  for (let hold = 1; hold <= HOLDS; hold++) {
    const [open] = await until("an ask", async () => {
      const asks = await sidecar.client.listAsks("row");
      return asks.length > 0 && asks;
    });
    const { requestId } = open ?? { requestId: "" };
    const answer = (optionId: string) => sidecar.client.answerAsk("row", requestId, { optionId });
    // While the runner is stopped, nobody reads the answer: only the inbox knows of it.
    const runner = runnersOf(folder);
    for (const pid of runner) process.kill(pid, "SIGSTOP");
    await killAtNextLine(sidecar, folder, answer("once"));
    await expect(answer("no")).rejects.toMatchObject({ code: "already_answered" });
    for (const pid of runner) process.kill(pid, "SIGCONT");
    await untilStatus(sidecar, "row", "idle");
    const decided = eventsIn(folder).filter((event) => event.type === "permission_response");
    expect(decided).toHaveLength(hold);
    expect(decided.at(-1)).toMatchObject({ outcome: "selected", optionId: "once" });
    if (hold < HOLDS) await sidecar.client.sendInput("row", { text: script("again", ask, { text: "done" }) });
  }
});

test("killed in the middle of a kill: the next sidecar finishes it", async () => {
  const sidecar = await spawn();
  const sleep = { tools: [{ name: "Bash", input: { command: "sleep 1000" } }] };
  for (let hold = 1; hold <= HOLDS; hold++) {
    const threadId = `kill-${hold}`;
    await openAgent(sidecar, threadId, script("first", sleep));
    await until("an ask", async () => (await sidecar.client.listAsks(threadId)).length > 0);
    const folder = folderOf(sidecar, threadId);
    await killAtNextLine(sidecar, folder, sidecar.client.killThread(threadId));
    await until("the thread to be closed", async () => {
      const ends = eventsIn(folder).filter(({ type }) => type === "turn_end" || type === "engine_end");
      return ends.length === 2 && (await sidecar.client.listAsks(threadId)).length === 0;
    });
    expect(await sidecar.client.getThread(threadId)).toMatchObject({ status: "killed" });
    await until("no process to be left", () => processesOf(folder).length === 0);
  }
});
