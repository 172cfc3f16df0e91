/** kill -9 of runner and engine: at random moments, and where a kill could lose or repeat something. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { engineOutputPath, threadPath } from "../../shared/agent/paths.ts";
import { seededRandom } from "../../shared/random.ts";
import { findFaults, runChaos } from "../support/agent-chaos.ts";
import { type AgentThread, bash, DEMO, openThreads, says } from "../support/agent-threads.ts";
import { inFull } from "../support/faults.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

const victims = { runner: ["runner"], engine: ["engine"], both: ["both"] } as const;

describe("at random moments nothing is lost, nothing happens twice, nothing stays open", () => {
  test.each(Object.entries(victims))("kill -9 of %s", { timeout: 180_000 }, async (name, victims) => {
    const thread = open({ timeouts: { idleSeconds: 1 } });
    const kills = inFull(20, 5);
    const report = await runChaos({ thread, victims, kills, random: seededRandom(7) });
    // How many find their victim alive depends on the machine.
    expect(report.kills[name]).toBeGreaterThan(0);
    expect(findFaults(thread, report)).toEqual([]);
    await thread.ended();
    expect(thread.engineProcesses()).toEqual([]);
  });
});

function killEngine(thread: AgentThread): void {
  signal(thread.enginePid(), "SIGKILL");
}

async function killRunner(thread: AgentThread): Promise<void> {
  thread.killRunner();
  await thread.runnerDied();
}

/** A program that becomes the engine once a file is there: the time between its start and its first word. */
function slowProgram(thread: AgentThread): void {
  const script = join(thread.folder, "..", "slow.sh");
  const go = join(thread.folder, "..", "go");
  const whole = [DEMO.program, ...DEMO.args].join(" ");
  writeFileSync(
    script,
    `#!/bin/sh\n[ "$1" = --version ] || while [ ! -e ${go} ]; do sleep 0.02; done\nexec ${whole} "$@"\n`,
    { mode: 0o755 },
  );
  const path = join(thread.folder, "thread.json");
  const config = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...config, launch: { program: script, args: [] } }));
}

test("between the engine's start and its first word: the next runner finds it and goes on with it", async () => {
  const thread = open();
  slowProgram(thread);
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await until("the engine's process", () => thread.enginePid());
  await killRunner(thread);
  writeFileSync(join(thread.folder, "..", "go"), "");
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("engine_start")).toMatchObject([{ generation: 1 }]);
  expect(thread.of("delivery")).toHaveLength(1);
});

test("both die between the engine's start and its first word", async () => {
  const thread = open();
  slowProgram(thread);
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await until("the engine's process", () => thread.enginePid());
  await killRunner(thread);
  killEngine(thread);
  writeFileSync(join(thread.folder, "..", "go"), "");
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("engine_end")).toMatchObject([{ generation: 1, reason: "crashed" }]);
  expect(thread.of("delivery")).toHaveLength(1);
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Hello."]);
});

test.each(["the engine lives", "the engine dies too"])(
  "between a message that is sent ahead and the engine's first word; %s",
  async (how) => {
    const thread = open();
    slowProgram(thread);
    thread.write(says("hi", { text: "Hello." }));
    thread.start();
    await thread.event("delivery"); // before anything that the engine has said
    expect(thread.of("engine_start")).toEqual([]);
    await killRunner(thread);
    if (how === "the engine dies too") killEngine(thread);
    writeFileSync(join(thread.folder, "..", "go"), "");
    thread.start();
    await thread.event("turn_end");
    await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
    expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Hello."]);
    expect(thread.of("delivery")).toHaveLength(1);
    expect(thread.saved().split('"text":"Hello."').length - 1).toBe(1);
  },
);

/** The engine behind a program that gives it its first line at once, more once told, and after a message more after its turn. */
function gatedProgram(thread: AgentThread): void {
  const script = join(thread.folder, "..", "gate.mjs");
  const [go, output] = [join(thread.folder, "..", "go"), engineOutputPath(thread.folder, 1)];
  const text = `
    import { spawn } from "node:child_process";
    import { existsSync, readFileSync } from "node:fs";
    import { createInterface } from "node:readline";
    import { setTimeout as sleep } from "node:timers/promises";
    const args = [...${JSON.stringify(DEMO.args)}, ...process.argv.slice(2)];
    const isVersion = args.includes("--version");
    const stdio = [isVersion ? "ignore" : "pipe", "inherit", "inherit"];
    const engine = spawn(${JSON.stringify(DEMO.program)}, args, { stdio });
    engine.on("exit", (code) => process.exit(code ?? 1));
    const mayPass = [
      () => true,
      () => existsSync(${JSON.stringify(go)}),
      () => readFileSync(${JSON.stringify(output)}, "utf8").includes('"type":"result"'),
    ];
    let stage = 0;
    if (!isVersion) {
      for await (const line of createInterface({ input: process.stdin })) {
        while (!mayPass[stage]()) await sleep(10);
        stage = line.includes('"type":"user"') ? 2 : Math.max(stage, 1);
        engine.stdin.write(line + "\\n");
      }
    }
  `;
  writeFileSync(script, text);
  const path = threadPath(thread.folder, "config");
  const config = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...config, launch: { program: process.execPath, args: [script] } }));
}

test("a message that an engine has not read yet, though it is open, is not sent again", async () => {
  const thread = open();
  gatedProgram(thread);
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  const { deliveryId } = await thread.event("delivery");
  await until("the engine to be open", () => engineSaid(thread).includes("control_response"));
  await killRunner(thread);
  thread.start();
  await thread.event("engine_start"); // the next runner knows that it is open
  thread.write("later", { when: "next_turn" });
  await thread.event("user_message", 2);
  writeFileSync(join(thread.folder, "..", "go"), "");
  await until("both turns to end", () => thread.of("turn_end").length === 2);
  await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
  const echoes = engineSaid(thread)
    .split("\n")
    .filter((line) => line.includes('"isReplay":true') && line.includes(deliveryId));
  expect(echoes).toHaveLength(1);
});

const engineSaid = (thread: AgentThread) => readFileSync(engineOutputPath(thread.folder, 1), "utf8");

test.each(["the engine lives", "the engine dies too"])(
  "between a delivery's note and its way to the engine; %s",
  async (how) => {
    const thread = open();
    thread.write(says("one", { text: "First." }));
    thread.start();
    await thread.event("turn_end");
    // The engine saves late: a text that is printed and not saved is said again.
    await until("the answer to be saved", () => thread.saved().includes('First."}'));
    const pid = thread.enginePid();
    if (pid === undefined) throw new Error("no engine");
    signal(pid, "SIGSTOP"); // what is written waits in the FIFO, unread, and goes with the engine
    thread.write(says("two", { text: "Second." }));
    await thread.event("delivery", 2);
    await killRunner(thread);
    signal(pid, how === "the engine lives" ? "SIGCONT" : "SIGKILL");
    thread.start();
    await thread.event("turn_end", 2);
    await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
    expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["First.", "Second."]);
    expect(thread.of("delivery")).toHaveLength(2);
  },
);

test.each(["the engine lives", "the engine dies too"])(
  "between an answer and the engine's echo; %s",
  async (how) => {
    const thread = open();
    const effects = join(thread.dir, "effects");
    thread.write(
      says("run", { text: "Running.", tools: [bash(`echo once >> ${effects}`)] }, { text: "ran" }),
    );
    thread.start();
    const ask = await thread.event("permission_request");
    const pid = thread.enginePid();
    if (pid === undefined) throw new Error("no engine");
    signal(pid, "SIGSTOP");
    thread.answer(ask.requestId, "once");
    await thread.event("permission_response");
    await killRunner(thread);
    signal(pid, how === "the engine lives" ? "SIGCONT" : "SIGKILL");
    thread.start();
    await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
    expect(readFileSync(effects, "utf8")).toBe("once\n");
    expect(thread.fold().asks).toEqual([]);
  },
);

test("the engine dies as soon as a call has its effect: the call is not run again", {
  timeout: 120_000,
}, async () => {
  const thread = open({ agent: { permissionMode: "bypassPermissions" } });
  const effects = join(thread.dir, "effects");
  for (let round = 1; round <= 5; round++) {
    const call = bash(`echo ${round} >> ${effects}; tail -f /dev/null`);
    thread.write(says(`run ${round}`, { tools: [call] }, { text: "told" }));
    if (!thread.runner) thread.start();
    await until(
      "the effect",
      () => existsSync(effects) && readFileSync(effects, "utf8").includes(`${round}\n`),
    );
    killEngine(thread);
    await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
  }
  expect(readFileSync(effects, "utf8")).toBe("1\n2\n3\n4\n5\n");
});

test("a call that runs when the engine dies: its processes go, and it is not run again", async () => {
  const thread = open();
  const effects = join(thread.dir, "effects");
  const call = bash(`echo once >> ${effects}; tail -f /dev/null`);
  thread.write(says("run", { text: "Running.", tools: [call] }, { text: "saw that it was cut off" }));
  thread.start();
  thread.answer((await thread.event("permission_request")).requestId, "once");
  await until("the call to run", () => existsSync(effects) && readFileSync(effects, "utf8") === "once\n");
  killEngine(thread);
  await until(
    "the thread to be idle",
    () => statusOf(thread.fold()) === "idle" && thread.of("turn_end").length > 1,
  );
  expect(readFileSync(effects, "utf8")).toBe("once\n");
  expect(thread.engineProcesses().filter(({ command }) => command.includes("tail"))).toEqual([]);
  const [cut, end] = thread.of("turn_end");
  expect([cut?.stopReason, end?.stopReason]).toEqual(["interrupted", "end_turn"]);
});

test("a turn that is cut off again and again is taken up three times, then fails until a person goes on", async () => {
  const thread = open();
  const go = join(thread.dir, "go");
  thread.write(says("long", { text: "A text that is long enough to come in pieces.", pauseFor: go }));
  thread.start();
  for (let kill = 1; kill <= 4; kill++) {
    await thread.event("turn_start", kill);
    await thread.event("engine_start", kill);
    const pid = await until("the engine", () => thread.enginePid());
    signal(pid, "SIGKILL");
    await thread.event("engine_end", kill);
  }
  expect(await thread.ended()).toBe(0);
  expect(statusOf(thread.fold())).toBe("failed");
  expect(thread.of("failure")).toMatchObject([{ code: "cut_off" }]);
  thread.start();
  expect(await thread.ended()).toBe(0);
  expect(thread.of("engine_start")).toHaveLength(4);
  writeFileSync(go, "");
  thread.control("resume");
  thread.start();
  await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
});

// Promise: R7
test("Stop holds though the engine dies before it hears of it", async () => {
  const thread = open();
  const go = join(thread.dir, "go");
  thread.write(says("long", { text: "A text that is long enough to come in pieces.", pauseFor: go }));
  thread.start();
  await thread.event("delivery_update");
  const pid = thread.enginePid();
  if (pid === undefined) throw new Error("no engine");
  signal(pid, "SIGSTOP");
  thread.control("interrupt");
  await thread.event("control");
  signal(pid, "SIGKILL");
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
  expect(await thread.ended()).toBe(0);
  expect(statusOf(thread.fold())).toBe("idle");
});
