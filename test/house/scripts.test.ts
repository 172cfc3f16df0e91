/** scripts/run, scripts/test and the container's supervisor as the programs that people start. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import type { Finding } from "../../shared/doctor.ts";
import { transcriptOf, wordsOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { findProcessesOf, listProcesses, signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

// Several programs are started one after the other.
vi.setConfig({ testTimeout: 90_000 });

const root = fileURLToPath(new URL("../..", import.meta.url));
const script = (name: string) => join(root, "scripts", name);
const cleanups: (() => void)[] = [];

// Compiles only where something has changed since the last time.
beforeAll(() => promisify(execFile)("bash", ["-c", `. ${script("setup.sh")} && build`]), 120_000);

afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

function folder(): string {
  const { path, remove } = makeFolder();
  cleanups.push(() => {
    for (const { pid } of findProcessesOf(path)) signal(pid, "SIGKILL");
    remove();
  });
  return path;
}

interface Started {
  process: ChildProcess;
  /** Standard output and standard error so far. */
  text: () => string;
  code: Promise<number | string | null>;
}

function start(command: string, args: string[], env: Record<string, string> = {}, cwd = root): Started {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, DISCORD_TOKEN: "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk));
  const code = new Promise<number | string | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode, signalName) => resolve(signalName ?? exitCode));
  });
  return { process: child, text: () => text, code };
}

/** scripts/run with folders and ports of its own, its set-up done. */
function startRun(state: string, ...args: string[]): Started {
  return startRunWith({}, state, ...args);
}

function startRunWith(env: Record<string, string>, state: string, ...args: string[]): Started {
  return start(process.execPath, [script("start.mjs"), ...(args.length > 0 ? args : ["start"])], {
    STATE_DIR: join(state, "s"),
    REPOS_DIR: join(state, "repos"),
    VM_PORT: "0",
    LOCAL_DISCORD_PORT: "0",
    VM_HOST: "127.0.0.1",
    VM_TOKEN: "",
    AGENT_PROGRAM: "",
    ...env,
  });
}

async function startedRun(state: string, ...args: string[]): Promise<Started> {
  return started(startRun(state, ...args));
}

async function started(run: Started): Promise<Started> {
  await until(
    "the page's address",
    () => /\nOpen http\S+\n$/.test(run.text()) || run.process.exitCode !== null,
    { timeoutMs: 60_000 },
  );
  expect(run.text()).toMatch(/\nOpen http:\/\/127\.0\.0\.1:\d+\/\S*\n$/);
  return run;
}

const programsOf = (state: string) =>
  findProcessesOf(state).filter(({ command }) => /\/dist\/.*main\.js$/.test(command));

function clientOf(run: Started, state: string): SidecarClient {
  const url = /sidecar +(http\S+)/.exec(run.text())?.[1] ?? "";
  return new SidecarClient({ url, token: readFileSync(join(state, "s/token"), "utf8").trim() });
}

async function createThread(run: Started, state: string, command: string): Promise<void> {
  const thread = { threadId: "one", type: "terminal" as const, dir: ".", command };
  await clientOf(run, state).createThread(thread);
}

test.each(["run", "test"])("scripts/%s --help, by a link and from another directory", async (name) => {
  const dir = folder();
  symlinkSync(script(name), join(dir, "link"));
  const { code, text } = start(join(dir, "link"), ["--help"], {}, dir);
  expect(await code).toBe(0);
  expect(text()).toMatch(new RegExp(`^Usage: scripts/${name} `));
});

test("scripts/run refuses an argument that it does not know", async () => {
  const { code, text } = start(script("run"), ["--stpo"]);
  expect(await code).toBe(2);
  expect(text()).toContain("unknown argument: --stpo");
});

test("an old Node.js is refused in one line", async () => {
  const bin = folder();
  writeFileSync(join(bin, "node"), '#!/bin/sh\n[ "$1" = --version ] && echo v18.20.4 || exit 1\n');
  chmodSync(join(bin, "node"), 0o755);
  const { code, text } = start(script("run"), [], { PATH: `${bin}:${process.env["PATH"]}` });
  expect(await code).toBe(2);
  expect(text()).toBe(`threadmux: Node.js 20.19 or newer is needed, this is v18.20.4 (${bin}/node)\n`);
});

test("a missing package is named with the command that installs it, where we can't", async () => {
  const bin = folder();
  for (const tool of ["bash", "dirname", "readlink", "npm", "true", "cat", "sha256sum"]) {
    const { stdout } = await promisify(execFile)("which", [tool]);
    symlinkSync(stdout.trim(), join(bin, tool));
  }
  symlinkSync(process.execPath, join(bin, "node"));
  writeFileSync(join(bin, "id"), "#!/bin/sh\necho 1000\n", { mode: 0o755 });
  writeFileSync(join(bin, "apt-get"), "#!/bin/sh\nexit 100\n", { mode: 0o755 });
  const env = { PATH: bin, STATE_DIR: join(bin, "s"), VM_PORT: "0", LOCAL_DISCORD_PORT: "0" };
  const { code, text } = start(script("run"), [], env);
  expect(await code).toBe(2);
  // A checkout whose npm packages are not up to date needs the compiler's packages too.
  const packages = "tmux( python3 make g\\+\\+)?";
  const install = `install with: sudo apt-get install -y ${packages}`;
  expect(text()).toMatch(new RegExp(`^threadmux: missing: ${packages}; ${install}\n$`));
});

test("a taken port is named before anything is installed or built", async () => {
  const dir = folder();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  const { port } = server.address() as { port: number };
  const env = { STATE_DIR: join(dir, "s"), VM_PORT: "0", LOCAL_DISCORD_PORT: String(port) };
  const { code, text } = start(script("run"), [], env);
  expect(await code).toBe(1);
  expect(text()).toMatch(
    new RegExp(`^threadmux: port ${port} is taken; .*LOCAL_DISCORD_PORT=${port + 100} scripts/run\n$`),
  );
  expect(existsSync(join(dir, "s"))).toBe(false);
});

test("without a coding agent /agent is the demo, which says so; with one it is that", async () => {
  const state = folder();
  mkdirSync(join(state, "repos"));
  const path = (process.env["PATH"] ?? "").split(":").filter((dir) => !existsSync(join(dir, "claude")));
  const run = await started(startRunWith({ PATH: path.join(":") }, state));
  expect(run.text()).toContain("/agent talks to    a scripted demo, no model is behind it");
  const client = clientOf(run, state);
  await client.createThread({ threadId: "one", type: "agent", dir: ".", command: "hi" });
  const side = { client, reposDir: join(state, "repos") };
  const said = await until("the demo's first words", async () => (await wordsOf(side, "one"))[0]);
  expect(said).toMatch(/^No model is behind this agent: it is threadmux's demo/);
  expect(await transcriptOf(side, "one")).toContainEqual(
    expect.objectContaining({ type: "engine_start", engine: "demo" }),
  );
  await client.killThread("one");
  // Another shell has none of these settings but the state folder.
  const doctor = [join(root, "dist/cli/main.js"), "doctor", "--only", "sidecar", "--json"];
  const shell = { PATH: path.join(":"), HOME: folder(), STATE_DIR: join(state, "s") };
  const examined = await promisify(execFile)(process.execPath, doctor, { cwd: shell.HOME, env: shell }).catch(
    (error: { stdout: string }) => error,
  );
  const { findings } = JSON.parse(examined.stdout) as { findings: Finding[] };
  const says = (look: string) => findings.filter((finding) => finding.look === look);
  expect(says("repositories")).toMatchObject([{ state: "ok", says: join(state, "repos") }]);
  expect(says("agent")).toMatchObject([
    { state: "ok", says: expect.stringMatching(/^the scripted demo comes with/) },
  ]);
  expect(says("sidecar")).toMatchObject([{ state: "ok" }]);
  run.process.kill("SIGTERM");
  await run.code;
  const bin = folder();
  writeFileSync(join(bin, "claude"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const again = await started(startRunWith({ PATH: `${bin}:${path.join(":")}` }, state));
  expect(again.text()).toMatch(/\/agent talks to {4}claude\n/);
  expect(await startRun(state, "stop").code).toBe(0);
  await again.code;
});

test("without the coding agent the tests that need it fail, in words", async () => {
  const dir = folder();
  const source = `. ${script("setup.sh")}; . ${script("agents.sh")}; install_agents; echo installed`;
  const { code, text } = start("bash", ["-euo", "pipefail", "-c", source], {
    XDG_CACHE_HOME: dir,
    npm_config_cache: join(dir, "npm"),
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_fetch_retries: "0",
  });
  expect(await code).toBe(1);
  expect(text()).toMatch(/threadmux: could not install @anthropic-ai\/claude-code@\d\S+; the lines above/);
  expect(text()).not.toContain("installed\n");
});

// Promise: R5
test("a lost database: the start says how to go on, and goes on with --adopt", async () => {
  const state = folder();
  const first = await startedRun(state);
  await createThread(first, state, "exec sleep 4243");
  const isAlive = () => findProcessesOf(state).some(({ command }) => command === "sleep 4243");
  await until("the program", isAlive);
  first.process.kill("SIGTERM");
  expect(await first.code).toBe(0);
  for (const end of ["", "-wal", "-shm"]) rmSync(join(state, `s/threadmux.db${end}`), { force: true });
  const refused = startRun(state);
  expect(await refused.code).toBe(1);
  expect(refused.text()).toContain("1 thread runs in tmux that the database does not know (one)");
  expect(isAlive()).toBe(true);
  const adopted = await startedRun(state, "start", "--adopt");
  adopted.process.kill("SIGTERM");
  expect(await adopted.code).toBe(0);
  expect(isAlive()).toBe(true);
  const stopped = startRun(state, "stop");
  expect(await stopped.code).toBe(0);
  expect(stopped.text()).toContain("Ended 1 thread and the tmux server");
  expect(isAlive()).toBe(false);
});

test("TERM ends everything, where no thread is open also tmux", async () => {
  const dir = folder();
  const run = await startedRun(dir);
  expect(programsOf(dir)).toHaveLength(3);
  const second = startRun(dir);
  expect(await second.code).toBe(1);
  expect(second.text()).toContain(`already running on this STATE_DIR, as process ${run.process.pid}`);

  run.process.kill("SIGTERM");
  expect(await run.code).toBe(0);
  expect(run.text()).toContain("threadmux has ended; no thread was open.");
  await until("every process to go", () => findProcessesOf(dir).length === 0);
});

test("killed with -9 it leaves only the thread, and scripts/run --stop ends that with all its processes", async () => {
  const dir = folder();
  const run = await startedRun(dir);
  await createThread(run, dir, "setsid sleep 4242 & sleep 4242");
  run.process.kill("SIGKILL");
  await run.code;
  await until("our programs to go", () => programsOf(dir).length === 0);
  expect(findProcessesOf(dir).some(({ command }) => command.startsWith("tmux"))).toBe(true);

  const stop = startRun(dir, "stop");
  expect(await stop.code).toBe(0);
  expect(stop.text()).toContain("Ended 1 thread and the tmux server of");
  await until("every process to go", () => findProcessesOf(dir).length === 0);
  const again = startRun(dir, "stop");
  expect(await again.code).toBe(0);
  expect(again.text()).toContain("Nothing runs in");
});

test("when the sidecar dies it says so, ends the rest, and the thread goes on", async () => {
  const dir = folder();
  const run = await startedRun(dir);
  await createThread(run, dir, "sleep 4242");
  signal(programsOf(dir).find(({ command }) => command.includes("vm/main.js"))?.pid, "SIGKILL");
  expect(await run.code).toBe(1);
  expect(run.text()).toContain("the sidecar has ended (signal SIGKILL), so the rest is ended too.");
  expect(run.text()).toContain("1 thread goes on in tmux");
  expect(programsOf(dir)).toEqual([]);
  expect(await startRun(dir, "stop").code).toBe(0);
});

// Promise: S4
test("a program's log is bounded however much it prints, and what it prints last is in it", async () => {
  const dir = folder();
  const log = join(dir, "program.log");
  const printer = join(dir, "printer.mjs");
  const total = 2_000;
  // It waits for the log to be bounded, which is looked after by another process: that may stand still for a while.
  writeFileSync(
    printer,
    `import { statSync } from "node:fs";
    let i = 0;
    const timer = setInterval(() => {
      if (statSync(${JSON.stringify(log)}).size > 300_000) return;
      process.stderr.write("line " + ++i + " " + "x".repeat(500) + "\\n");
      if (i === ${total}) clearInterval(timer);
    }, 2);`,
  );
  const runner = join(dir, "runner.mjs");
  const options = `{ name: "the printer", script: ${JSON.stringify(printer)}, log: ${JSON.stringify(log)}, env: process.env, cwd: "/", logMaxBytes: 100_000, logCheckMs: 50 }`;
  writeFileSync(
    runner,
    `import { Program } from ${JSON.stringify(script("processes.mjs"))};
    await new Program(${options}).ended;`,
  );
  const run = start(process.execPath, [runner]);
  const isOver = run.code.then(() => true);
  await until("the printer to end", () => Promise.race([isOver, Promise.resolve(false)]));
  expect(await run.code).toBe(0);
  for (const file of [log, `${log}.1`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  const lines = [`${log}.1`, log].flatMap((file) => readFileSync(file, "utf8").trimEnd().split("\n"));
  const numbers = lines.map((line) => Number(/^line (\d+) x{500}$/.exec(line)?.[1]));
  expect(numbers).toEqual([...numbers].sort((one, other) => one - other)); // whole lines in their order, no hole
  expect(numbers.at(-1)).toBe(total);
});

test("the supervisor starts a crashed program again and ends it with TERM", async () => {
  const dir = folder();
  const starts = join(dir, "starts");
  writeFileSync(starts, "");
  const program = `echo x >>${starts}; [ $(wc -l <${starts}) -eq 1 ] && kill -9 $$; exec sleep 4242`;
  const supervisor = start(script("vm-supervise"), ["sh", "-c", program], { HOME: join(dir, "home") });
  await until("a second start", () => readFileSync(starts, "utf8") === "x\nx\n");
  await until("it to run", () =>
    listProcesses().some((p) => p.ppid === supervisor.process.pid && p.command === "sleep 4242"),
  );
  supervisor.process.kill("SIGTERM");
  expect(await supervisor.code).toBe(0);
  expect(supervisor.text()).toContain("ended with code 137; starting it again in 1 s");
});

test("the supervisor does not repeat what its settings forbid", async () => {
  const supervisor = start(script("vm-supervise"), ["sh", "-c", "exit 2"], { HOME: folder() });
  expect(await supervisor.code).toBe(2);
});

test("the image is given every folder that the build compiles, and scripts/run looks for changes in it", () => {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const { include } = JSON.parse(read("tsconfig.build.json")) as { include: string[] };
  expect(include).toContain("vm");
  const watched = /\(cd "\$root" && find (.+?) -path /s.exec(read("scripts/setup.sh"))?.[1]?.split(/[\s\\]+/);
  for (const name of include) {
    expect(read("Dockerfile.vm")).toContain(`\nCOPY ${name} ./${name}\n`);
    expect(read(".dockerignore")).toContain(`\n!${name}\n`);
    expect(watched).toContain(name);
  }
});
