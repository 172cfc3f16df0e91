/** Budgets of threads: the kernel holds each, the thread says which it reached, and nobody else is the slower for it. */
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BudgetGroups } from "../../vm/processes/budget-groups.ts";
import { Cgroups, findGroup, groupName } from "../../vm/processes/cgroups.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { callTool } from "../support/mcp.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilOutput } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";

const MIB = 1024 ** 2;
const groups = Cgroups.open("a probe of budgets");
const probe = BudgetGroups.open("a probe of budgets", groups);
const { problems } = probe;
probe.close();
groups?.close();
const isHeld = Object.keys(problems).length === 0;

let sidecar: TestSidecar;
let without: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, maxThreads: 20 }, { budgetLookMs: 200 });
  without = await startSidecar({}, { canUseCgroups: false });
});
afterAll(async () => {
  await sidecar.close();
  await without.close();
});

const open = (threadId: string, command: string, budget: Record<string, number>) =>
  sidecar.client.createThread({ threadId, type: "terminal", dir: ".", command, budget });

test.runIf(isHeld)(
  "a program that takes more memory than its thread may is ended, and the thread says so",
  async () => {
    const eat = "node -e 'const all = []; for (;;) all.push(Buffer.alloc(4e6, 1))'";
    await open("eater", `${eat}; echo ended with $?; exec sleep 600`, { memory: 96 * MIB });
    await untilOutput(sidecar.client, "eater", "ended with 137");
    await untilOutput(
      sidecar.client,
      "eater",
      "budget of 96 MiB of memory: the kernel has ended a process of it.",
    );
    const { budget } = await sidecar.client.getThread("eater");
    expect(budget).toMatchObject({ memory: { limit: 96 * MIB, hits: 1 }, notHeld: [] });
    expect(budget?.memory?.used).toBeLessThan(96 * MIB);
    await sidecar.client.killThread("eater");
  },
);

test.runIf(isHeld)("a fork bomb is held to its processes, said, and ended with its thread", async () => {
  await open("bomb", "bomb() { bomb | bomb & }; bomb; exec sleep 600", { pids: 40 });
  await untilOutput(sidecar.client, "bomb", "budget of 40 processes:");
  const { budget } = await sidecar.client.getThread("bomb");
  expect(budget?.pids?.hits).toBeGreaterThan(0);
  expect(budget?.pids?.used).toBeLessThanOrEqual(40);
  expect(await sidecar.client.killThread("bomb")).toMatchObject({ survivors: 0 });
});

test.runIf(isHeld)(
  "a busy loop gets its share of a processor, and the thread says for how long it waited",
  async () => {
    await open("busy", "while :; do :; done & while :; do :; done", { cpu: 0.1 });
    await untilOutput(sidecar.client, "busy", "budget of 0.1 of the processors: it has waited");
    const budget = await untilValue(
      "its use",
      async () => (await sidecar.client.getThread("busy")).budget,
      (now) => (now?.cpu?.hits ?? 0) > 0,
    );
    expect(budget?.cpu).toMatchObject({ limit: 0.1 });
    await sidecar.client.killThread("busy");
  },
);

test.runIf(isHeld)("an agent and all that it runs share one budget, and its transcript says so", async () => {
  await sidecar.client.createThread({
    threadId: "agent",
    type: "agent",
    dir: ".",
    command: "for n in $(seq 90); do sleep 20 & done; wait",
    agent: { engine: "command", program: "sh", args: ["-c", "{prompt}"] },
    budget: { pids: 64 },
  });
  const transcript = await untilValue(
    "its notice",
    () => transcriptOf(sidecar, "agent"),
    (events) => events.some(({ type }) => type === "notice"),
  );
  expect(transcript.filter(({ type }) => type === "notice")).toMatchObject([
    { title: expect.stringMatching(/budget of 64 processes: (a|\d+) new process.* refused\.$/) },
  ]);
  await sidecar.client.killThread("agent");
});

// A group can't have more processors than the one above it: only in version 1 does the kernel refuse to say so.
test.runIf(isHeld && findGroup("cpu") !== undefined)(
  "if the kernel refuses one limit, the thread says so, and the others hold",
  async () => {
    const above = join(findGroup("cpu") ?? "", groupName(sidecar.stateDir));
    writeFileSync(join(above, "cpu.cfs_quota_us"), "50000");
    try {
      await open("refused", "bomb() { bomb | bomb & }; bomb; exec sleep 600", { cpu: 1.5, pids: 40 });
      await untilOutput(
        sidecar.client,
        "refused",
        "Nothing holds the budget of 1.5 of the processors on this machine: the kernel refuses it (EINVAL",
      );
      await untilOutput(sidecar.client, "refused", "budget of 40 processes:");
      const { budget } = await sidecar.client.getThread("refused");
      expect(budget).toMatchObject({ notHeld: ["cpu"], pids: { limit: 40 } });
      expect(budget?.pids?.used).toBeLessThanOrEqual(40);
    } finally {
      await sidecar.client.killThread("refused");
      writeFileSync(join(above, "cpu.cfs_quota_us"), "-1");
    }
  },
);

test.runIf(isHeld)("a thread that is adopted has the budget that the kernel holds it to", async () => {
  const folders = makeSidecarFolders();
  try {
    const first = await startSidecar({}, { folders });
    const budget = { memory: 96 * MIB, cpu: 0.5, pids: 40 };
    const [type, dir] = ["terminal" as const, "."];
    await first.client.createThread({ threadId: "kept", type, dir, command: "exec sleep 600", budget });
    await first.client.createThread({ threadId: "free", type, dir, command: "exec sleep 600" });
    await first.stop();
    for (const name of readdirSync(first.stateDir).filter((name) => name.startsWith("threadmux.db")))
      rmSync(join(first.stateDir, name));
    const { client, stop } = await startSidecar({ orphanPolicy: "adopt" }, { folders });
    expect((await client.getThread("kept")).budget).toMatchObject({
      ...{ memory: { limit: budget.memory }, cpu: { limit: budget.cpu }, pids: { limit: budget.pids } },
      notHeld: [],
    });
    expect((await client.getThread("free")).budget).toBeNull();
    for (const threadId of ["kept", "free"]) await client.killThread(threadId);
    await stop();
  } finally {
    await folders.close();
  }
});

test.runIf(isHeld)("what a thread starts counts together, and nothing is left of its groups", async () => {
  const marker = "THREADMUX_THREAD=00000000-0000-4000-8000-0123456789ab";
  const taken = BudgetGroups.open("of nobody", undefined);
  expect(taken.read(marker, { pids: 16 })).toEqual({});
  taken.close();
  await open("tree", "sleep 600 & sleep 600 & sleep 600 & wait", { pids: 32, memory: 64 * MIB, cpu: 1 });
  await untilValue(
    "its processes",
    async () => (await sidecar.client.getThread("tree")).budget?.pids?.used,
    (count) => count === 4,
  );
  await sidecar.client.killThread("tree");
  const groupsOfIt = Cgroups.open(sidecar.stateDir);
  const mine = BudgetGroups.open(sidecar.stateDir, groupsOfIt);
  const paths = [...mine.paths, ...(groupsOfIt ? [groupsOfIt.path] : [])];
  expect(paths.length).toBeGreaterThan(0);
  const left = paths.flatMap((path) =>
    existsSync(path) ? readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory()) : [],
  );
  expect(left).toEqual([]);
});

test("a child and a branch have a budget as large as their parent's", async () => {
  const budget = { pids: 200, memory: 1024 * MIB };
  const command = script("go", { text: "ok" });
  await sidecar.client.createThread({ threadId: "parent", type: "agent", dir: ".", command, budget });
  await untilStatus(sidecar, "parent", "idle");
  const input = { prompt: script("help", { text: "done" }), mode: "async", title: "a part" };
  const said = await callTool(sidecar, { threadId: "parent", name: "spawn_thread", callId: "s", input });
  const [, child = ""] = /Started (child-\w+)/.exec(said) ?? [];
  await sidecar.client.branchThread("parent", { threadId: "branch", lockParent: false });
  for (const threadId of [child, "branch"]) {
    const { memory, pids, notHeld } = (await sidecar.client.getThread(threadId)).budget ?? {};
    if (isHeld) expect([memory?.limit, pids?.limit]).toEqual([budget.memory, budget.pids]);
    else expect(notHeld).not.toEqual([]);
    await sidecar.client.killThread(threadId);
  }
  await sidecar.client.killThread("parent");
});

test("if nothing holds a budget, the thread says so and runs", async () => {
  await without.client.createThread({
    threadId: "unheld",
    type: "terminal",
    dir: ".",
    command: "echo it runs; exec sleep 600",
    budget: { memory: 64 * MIB },
  });
  await untilOutput(without.client, "unheld", "it runs");
  await untilOutput(
    without.client,
    "unheld",
    "Nothing holds the budget of 64 MiB of memory on this machine:",
  );
  expect((await without.client.getThread("unheld")).budget).toEqual({ notHeld: ["memory"] });
  await without.client.killThread("unheld");
});

test("a budget in which nothing runs is refused by its field", async () => {
  const refused = async (type: "terminal" | "agent", budget: Record<string, number>) =>
    sidecar.client
      .createThread({ threadId: "refused", type, dir: ".", command: "true", budget })
      .catch((error: Error) => error.message);
  expect(await refused("terminal", { memory: 1_000 })).toContain(
    "budget.memory: must be at least 33554432 (32 MiB)",
  );
  expect(await refused("terminal", { pids: 1 })).toContain("budget.pids: must be at least 16");
  expect(await refused("terminal", { cpu: 0 })).toContain("budget.cpu: must be at least 0.05");
  expect(await refused("terminal", { memory: 64 * MIB + 0.5 })).toContain(
    "budget.memory: must be a whole number",
  );
  expect(await refused("agent", { memory: 64 * MIB })).toContain(
    "budget.memory: no agent runs in less than 256 MiB",
  );
  expect(await refused("agent", { pids: 20 })).toContain("budget.pids: no agent runs with less than 64");
  expect(await refused("terminal", { disk: 5 })).toContain("disk");
});
