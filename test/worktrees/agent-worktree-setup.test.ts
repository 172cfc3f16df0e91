/** A worktree's setup: the person's command that runs there before the agent begins. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Command } from "../../agent/process/sandbox.ts";
import { setUpWorkspace } from "../../agent/workspace/workspace.ts";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { emptyFold } from "../../shared/agent/fold.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { openThreads, says } from "../support/agent-threads.ts";
import { BYPASS_CONFIG, script, untilStatus } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { isAlive } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { bringHooks } from "../support/trust.ts";
import { until } from "../support/wait.ts";
import { git, worktreesOf } from "../support/worktrees.ts";

const openThread = openThreads();
let sidecar: TestSidecar;
const { at, repository, open, eventsOf } = worktreesOf(() => sidecar);

beforeAll(async () => {
  const worktreeSetup = "echo broken; exit 3";
  sidecar = await startSidecar({ ...BYPASS_CONFIG, worktreeSetup });
});
afterAll(() => sidecar?.close());

test("a setup that fails is told, and not run again", async () => {
  repository("bad");
  await open("failing", "bad", { text: "Anyway." });
  await untilStatus(sidecar, "failing", "idle");
  const notices = await eventsOf("failing", "notice");
  expect(notices.at(-1)).toMatchObject({
    severity: "warning",
    title: expect.stringContaining("The setup failed (3)"),
  });
  expect(notices.at(-1)?.description).toContain("broken");
  await sidecar.client.sendInput("failing", { text: script("again", { text: "Yes." }) });
  await until("the answer", async () => (await eventsOf("failing", "agent_message")).length === 2);
  expect((await eventsOf("failing", "step_start")).filter(({ kind }) => kind === "setup")).toHaveLength(2);
});

test("a runner that is killed in the setup: the next one runs it again, not beside the first", async () => {
  repository("twice");
  const thread = openThread({ agent: { permissionMode: "bypassPermissions" } });
  const pids = join(thread.folder, "pids");
  const both = join(thread.folder, "both");
  const again = `[ "$(wc -l < ${pids})" = 2 ]`;
  const first = `/proc/$(head -1 ${pids})/cmdline`; // empty once it is dead, though nobody has waited for it
  const setup = `echo $$ >> ${pids}; if ${again}; then grep -q . ${first} && touch ${both}; else tail -f /dev/null; fi`;
  const path = threadPath(thread.folder, "config");
  const config = JSON.parse(readFileSync(path, "utf8"));
  const worktree = { root: at("twice"), path: thread.dir, branch: "threadmux/twice", setup };
  writeFileSync(path, JSON.stringify({ ...config, worktree }));
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await until("the setup to run", () => existsSync(pids));
  thread.killRunner();
  await thread.runnerDied();
  thread.start();
  await thread.event("turn_end");
  expect(readFileSync(pids, "utf8").trim().split("\n")).toHaveLength(2);
  expect(existsSync(both)).toBe(false);
});

test("after Run without them no setup runs, and the thread says so", async () => {
  repository("foreign");
  const thread = openThread({ agent: { permissionMode: "bypassPermissions" }, timeouts: { idleSeconds: 1 } });
  bringHooks(at("foreign"));
  git(at("foreign"), "add", ".");
  git(at("foreign"), "commit", "-qm", "hooks");
  const path = threadPath(thread.folder, "config");
  const config = JSON.parse(readFileSync(path, "utf8"));
  const ran = join(thread.folder, "ran");
  const setup = `touch ${ran}`;
  const worktree = { root: at("foreign"), path: thread.dir, branch: "threadmux/foreign", setup };
  writeFileSync(path, JSON.stringify({ ...config, worktree }));
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  const { requestId } = await thread.event("permission_request");
  await thread.ended(); // it waits without a process
  thread.answer(requestId, "without");
  thread.start();
  await thread.event("turn_end");
  expect(existsSync(ran)).toBe(false);
  expect(thread.of("notice").find(({ title }) => /runs without/.test(title))?.description).toContain(
    "Its worktree is not set up: WORKTREE_SETUP would run scripts of the repository.",
  );
});

test("Stop ends a setup that runs, with all that it began; the next message goes on without it", async () => {
  repository("endless");
  const thread = openThread({ agent: { permissionMode: "bypassPermissions" } });
  const path = threadPath(thread.folder, "config");
  const config = JSON.parse(readFileSync(path, "utf8"));
  const began = join(thread.folder, "began");
  const setup = `tail -f /dev/null & touch ${began}; wait`;
  const worktree = { root: at("endless"), path: thread.dir, branch: "threadmux/endless", setup };
  writeFileSync(path, JSON.stringify({ ...config, worktree }));
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await until("the setup to run", () => existsSync(began));
  thread.append({ op: "interrupt", by: "discord:7" });
  await until("the end of the setup", () =>
    thread.of("notice").some(({ title }) => /^The setup failed \(it was ended\)/.test(title)),
  );
  expect(await thread.ended()).toBe(0);
  expect(thread.engineProcesses()).toEqual([]);
  expect(thread.of("turn_start")).toEqual([]);
  thread.write(says("more", { text: "And more." }));
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("step_start").filter(({ kind }) => kind === "setup")).toHaveLength(2);
});

test("what goes wrong while a setup runs reaches its runner, and ends the setup", async () => {
  const { path: folder, remove } = makeFolder();
  const pid = join(folder, "pid");
  const worktree = {
    root: folder,
    path: folder,
    branch: "b",
    setup: "echo $$ > pid; exec tail -f /dev/null",
  };
  const isStopped = () => {
    if (existsSync(pid)) throw new Error("the disk is full");
    return false;
  };
  const options = {
    folder,
    config: { dir: folder, worktree } as ThreadConfig,
    env: { PATH: "/bin:/usr/bin" },
    keep: (command: Command) => command,
  };
  const run = setUpWorkspace({ ...options, append: () => undefined, isStopped }, emptyFold());
  await expect(run).rejects.toThrow("the disk is full");
  await until("the setup's end", () => !isAlive(Number(readFileSync(pid, "utf8"))));
  remove();
});

test("a directory that was swapped for a link is not set up, and a FIFO in the command's place ends with Stop", async () => {
  const { path: folder, remove } = makeFolder();
  const [dir, outside, pipe] = ["dir", "outside", "setup.sh"].map((name) => join(folder, name));
  mkdirSync(outside ?? "");
  symlinkSync(outside ?? "", dir ?? "");
  execFileSync("mkfifo", [pipe ?? ""]);
  const told: EventBody[] = [];
  const setUp = async (dir: string, setup: string, isStopped: () => boolean) => {
    const config = { dir, worktree: { root: folder, path: dir, branch: "b", setup } } as ThreadConfig;
    const env = { PATH: "/bin:/usr/bin" };
    const keep = (command: Command) => command;
    const append = (bodies: EventBody[]) => void told.push(...bodies);
    await setUpWorkspace({ folder, config, env, keep, append, isStopped }, emptyFold());
    return told.findLast(({ type }) => type === "notice");
  };
  expect(await setUp(dir ?? "", "touch ran", () => false)).toMatchObject({
    severity: "warning",
    title: expect.stringContaining("The setup failed"),
  });
  expect(readdirSync(outside ?? "")).toEqual([]);
  let looks = 0;
  expect(await setUp(folder, `bash ${pipe}`, () => ++looks > 2)).toMatchObject({
    title: expect.stringContaining("The setup failed (it was ended)"),
  });
  remove();
});

// Promise: S7
test("a setup's command is in no list of processes, and no variable of what it starts", async () => {
  const { path: folder, remove } = makeFolder();
  const setup = "tr '\\0' ' ' < /proc/$$/cmdline > shown; env > variables; echo \"$0 $#\" > named # kumquat";
  const worktree = { root: folder, path: folder, branch: "b", setup };
  const bodies: EventBody[] = [];
  await setUpWorkspace(
    {
      folder,
      config: { dir: folder, worktree } as ThreadConfig,
      env: { PATH: "/bin:/usr/bin" },
      append: (more) => void bodies.push(...more),
      keep: (command) => command,
      isStopped: () => false,
    },
    emptyFold(),
  );
  expect(bodies.at(-1)).toMatchObject({ title: expect.stringMatching(/^Set up in /) });
  const written = (name: string) => readFileSync(join(folder, name), "utf8");
  expect(written("shown")).toMatch(/^\/bin\/bash -c /);
  expect(written("shown") + written("variables")).not.toContain("kumquat");
  expect(written("named")).toBe("/bin/bash 0\n");
  remove();
});
