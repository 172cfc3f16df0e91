import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, untilStatus, wordsOf } from "../support/agents.ts";
import { awakeMs } from "../support/measure.ts";
import { findProcess, listProcesses, signal } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;

beforeEach(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterEach(() => sidecar.close());

const isUp = async () => (await sidecar.client.getHealth()).ok;
const untilUp = () => until("tmux to be back", isUp);

/** The control client's process: the one tmux that is a child of the sidecar. */
function controlClient(): number {
  const socket = join(sidecar.stateDir, "tmux.sock");
  const client = listProcesses().find(
    (p) => p.ppid === process.pid && p.command.includes(`${socket} -f /dev/null -C`),
  );
  return client?.pid ?? 0;
}

// Promise: R4
test("its server killed: 503 while it is away, back by itself, threads are lost", async () => {
  const { client, folders } = sidecar;
  await openTerminal(client, "one", "trap '' HUP; echo one; while :; do sleep 0.1; done");
  await openTerminal(client, "ended", "exit 3");
  await openAgent(sidecar, "agent", script("hello", { text: "Hello." }));
  await untilOutput(client, "one", "one\r\n");
  await untilEnded(client, "ended");
  await untilStatus(sidecar, "agent", "idle");
  const serverPid = folders.tmuxPid();
  const calls: Promise<unknown>[] = [];
  signal(serverPid, "SIGKILL");
  // From this moment until it is back, whoever asks is told, and nobody gets a wrong answer.
  for (let i = 0; i < 20; i++) calls.push(openTerminal(client, `new-${i}`, "echo new; cat"));
  const outcomes = await Promise.allSettled(calls);
  const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  for (const { code, message } of refusals) {
    expect([code, message]).toEqual([
      "unavailable",
      expect.stringMatching(/^tmux (does not answer|has not answered)/),
    ]);
  }
  await untilUp();
  expect(folders.tmuxPid()).not.toBe(serverPid);
  await until("the threads to be lost", async () => (await client.getThread("one")).status === "lost");
  await untilStatus(sidecar, "agent", "idle"); // its conversation is in files
  expect(await client.getThread("ended")).toMatchObject({ status: "exited", exitCode: 3 });
  expect((await readAll(client, "one")).output).toBe("one\r\n");
  const marks = listProcesses().filter((p) => p.command.includes("/runs/one."));
  expect(marks.filter((p) => p.environment.some((entry) => entry.includes(folders.path)))).toEqual([]);
  await openTerminal(client, "after", "echo works; cat");
  await untilOutput(client, "after", "works");
});

test("its server killed five times in a row: it comes back each time, with one control client", async () => {
  const { client, folders } = sidecar;
  for (let i = 0; i < 5; i++) {
    const killed = folders.tmuxPid();
    signal(killed, "SIGKILL"); // also in the middle of coming back
    await until("tmux to be away or another", async () => !(await isUp()) || folders.tmuxPid() !== killed);
  }
  await untilUp();
  await openTerminal(client, "after", "echo works; cat");
  await untilOutput(client, "after", "works");
  const socket = join(sidecar.stateDir, "tmux.sock");
  await until("one client and one server", () => {
    const tmuxes = listProcesses().filter((p) => p.command.startsWith("tmux ") && p.command.includes(socket));
    return tmuxes.length === 2;
  });
});

// Promise: R10
test("its server hung: 503 within 3 s, then all goes on, nothing typed twice or half made", async () => {
  const { client, folders, reposDir } = sidecar;
  await openTerminal(client, "cat", "stty -echo; echo ready; cat");
  await openAgent(sidecar, "agent", script("hello", { text: "Hello." }));
  await untilStatus(sidecar, "agent", "idle");
  await untilOutput(client, "cat", "ready");
  signal(folders.tmuxPid(), "SIGSTOP");
  let refusals: { code: string; message: string }[] = [];
  const ms = await awakeMs(async () => {
    refusals = await Promise.all([
      refusal(client.sendInput("cat", { text: "typed while it hung" })),
      refusal(client.sendInput("cat", { key: "Enter" })),
      refusal(client.sendInput("cat", { text: "x\n".repeat(2_000) })),
      refusal(openTerminal(client, "new", "touch made; cat")),
    ]);
  });
  expect(refusals.map(({ code }) => code)).toEqual(Array(4).fill("unavailable"));
  expect(ms).toBeLessThan(3_500);
  expect(refusals.map(({ message }) => message).join()).toMatch(
    /tmux (does not answer|has not answered) for \d+ s/,
  );
  const health = await client.getHealth();
  expect(health).toMatchObject({ ok: false, tmux: { up: false, downForSeconds: expect.any(Number) } });
  expect((await client.listThreads()).map((thread) => thread.threadId)).toEqual(["cat", "agent"]);
  await client.sendInput("agent", { text: script("said while it hung", { text: "I heard." }) }); // kept, and given later
  signal(folders.tmuxPid(), "SIGCONT");
  await untilUp();
  await client.sendInput("cat", { text: "typed later" });
  expect(await untilOutput(client, "cat", "typed later\r\n")).toBe("ready\r\ntyped later\r\n");
  await untilStatus(sidecar, "agent", "idle");
  expect(await wordsOf(sidecar, "agent")).toEqual(["Hello.", "I heard."]);
  const sessions = await folders.tmux("list-sessions", "-F", "#{session_name}");
  expect(sessions.trim().split("\n").sort()).toEqual(["_ctl", "thread-agent", "thread-cat"]);
  expect(() => readFileSync(join(reposDir, "made"))).toThrow();
  await openTerminal(client, "new", "echo new; cat");
  expect(await untilOutput(client, "new", "new\r\n")).toBe("new\r\n");
});

test("a kill works while its server hangs, and the session ends when it is back", async () => {
  const { client, folders } = sidecar;
  await openTerminal(client, "hung", `echo last words; exec sleep 1000.61${process.pid}`);
  await untilOutput(client, "hung", "last words");
  signal(folders.tmuxPid(), "SIGSTOP");
  expect(await client.killThread("hung")).toMatchObject({ survivors: 0, summary: "last words" });
  expect(listProcesses().filter((p) => p.command.startsWith(`sleep 1000.61${process.pid}`))).toEqual([]);
  signal(folders.tmuxPid(), "SIGCONT");
  await until(
    "the session to end",
    async () => !(await folders.tmux("list-sessions")).includes("thread-hung"),
  );
  expect(await client.getThread("hung")).toMatchObject({ status: "killed" });
  await openTerminal(client, "hung", "echo again; cat");
  expect(await untilOutput(client, "hung", "again\r\n")).toBe("again\r\n");
});

test("a sidecar that starts while the server hangs serves what it can, and takes up its threads later", async () => {
  const { client, folders } = sidecar;
  await openTerminal(client, "kept", "echo kept; cat");
  await untilOutput(client, "kept", "kept\r\n");
  await sidecar.stop();
  signal(folders.tmuxPid(), "SIGSTOP");
  await sidecar.restart();
  expect((await readAll(client, "kept")).output).toBe("kept\r\n");
  expect(await refusal(client.sendInput("kept", { text: "x" }))).toMatchObject({ code: "unavailable" });
  signal(folders.tmuxPid(), "SIGCONT");
  await untilUp();
  expect(await client.getThread("kept")).toMatchObject({ status: "running" });
  await client.sendInput("kept", { text: "y" });
  expect(await untilOutput(client, "kept", "y\r\ny\r\n")).toBe("kept\r\ny\r\ny\r\n");
});

test("its control client killed: another takes over, and the threads go on", async () => {
  const { client, folders } = sidecar;
  await openTerminal(client, "cat", "cat");
  const serverPid = folders.tmuxPid();
  const clientPid = await until("the control client", controlClient);
  signal(clientPid, "SIGKILL");
  // Looked at once: if the killed one dies between two looks, the second sees no client, which is no other client.
  await until("another control client", () => {
    const pid = controlClient();
    return pid !== 0 && pid !== clientPid;
  });
  await untilUp();
  await client.sendInput("cat", { text: "hello" });
  await untilOutput(client, "cat", "hello\r\nhello\r\n");
  expect(folders.tmuxPid()).toBe(serverPid);
  expect((await client.getThread("cat")).status).toBe("running");
});

test("its socket deleted: the sidecar goes on, and a new one finds the server again", async () => {
  const { client, folders } = sidecar;
  await openTerminal(client, "cat", "cat");
  const serverPid = folders.tmuxPid();
  rmSync(join(sidecar.stateDir, "tmux.sock"));
  await client.sendInput("cat", { text: "one" });
  await untilOutput(client, "cat", "one\r\none\r\n");
  await sidecar.restart();
  expect(folders.tmuxPid()).toBe(serverPid);
  await client.sendInput("cat", { text: "two" });
  await untilOutput(client, "cat", "two\r\ntwo\r\n");
});

test("its sessions ended by hand: the threads are lost", async () => {
  const { client, folders } = sidecar;
  await openTerminal(client, "by-hand", "exec sleep 1000");
  await openTerminal(client, "other", "cat");
  await folders.tmux("kill-session", "-t", "=thread-by-hand");
  await until("the thread to be lost", async () => (await client.getThread("by-hand")).status === "lost");
  expect((await client.getThread("other")).status).toBe("running");
});

test("a log's writer killed: another takes over, and the log says that something is missing", async () => {
  const { client, stateDir } = sidecar;
  await openTerminal(client, "cat", "stty -echo; echo ready; cat");
  await untilOutput(client, "cat", "ready");
  const sink = Number(readFileSync(join(stateDir, "runs/cat.sink"), "utf8"));
  expect(findProcess(sink)?.command).toBe("cat");
  signal(sink, "SIGKILL");
  await client.sendInput("cat", { text: "lost, for nobody writes it down" });
  const log = await untilOutput(client, "cat", "is missing here, the log's writer had ended");
  await client.sendInput("cat", { text: "written again" });
  await untilOutput(client, "cat", "written again\r\n");
  expect(log).toContain("ready\r\n");
  await client.sendInput("cat", { key: "C-d" });
  expect(await untilEnded(client, "cat")).toMatchObject({ exitCode: 0 });
});

test("a flood of output on one thread leaves the others quick", async () => {
  const { client } = sidecar;
  await openTerminal(client, "flood", "yes");
  await openTerminal(client, "quiet", "cat");
  await until("a flood", async () => (await client.getThread("flood")).offset > 2_000_000);
  const ms = await awakeMs(async () => {
    for (let i = 0; i < 10; i++) {
      await client.sendInput("quiet", { text: `line ${i}` });
      await untilOutput(client, "quiet", `line ${i}\r\nline ${i}\r\n`);
    }
  });
  expect(ms).toBeLessThan(15_000);
  await client.killThread("flood");
});
