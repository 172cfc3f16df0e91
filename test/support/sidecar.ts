/** A sidecar of a test's own: fresh folders, real tmux, real HTTP; inside this process or as one of its own. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { SidecarClient } from "../../shared/client.ts";
import { createLog, type Log } from "../../shared/log.ts";
import { parseVmConfig, type VmConfig } from "../../vm/config.ts";
import type { ViewersLimits } from "../../vm/console/viewers.ts";
import type { HubOptions } from "../../vm/events/hub.ts";
import { BudgetGroups } from "../../vm/processes/budget-groups.ts";
import { Cgroups } from "../../vm/processes/cgroups.ts";
import { runSidecar, type Sidecar, type SidecarOptions } from "../../vm/run.ts";
import { makeFolder, RUN_VARIABLE, runId } from "./folders.ts";
import { findProcessesOf, isAlive, signal } from "./processes.ts";
import { programFile } from "./programs.ts";
import { until } from "./wait.ts";
import { watchWarnings } from "./warned.ts";

const run = promisify(execFile);
const TOKEN = "a-token-for-tests-0123456789abcdef";
const RELAY_TOKEN = "a-relay-token-for-tests-0123456789abc";

export interface SidecarFolders {
  /** Holds the others. */
  path: string;
  reposDir: string;
  stateDir: string;
  home: string;
  /** Environment variables of a sidecar on these folders. */
  env: Record<string, string>;
  /** tmux on these folders' socket. */
  tmux: (...args: string[]) => Promise<string>;
  /** The tmux server's process id. */
  tmuxPid: () => number;
  /** Ends the tmux server and everything that was started in it, and removes the folders. */
  close: () => Promise<void>;
}

export interface TestSidecar {
  url: string;
  /** Of the hook's door; undefined if it is shut. */
  hookUrl?: string | undefined;
  token: string;
  relayToken: string;
  client: SidecarClient;
  /** As the relay asks in the name of a Discord user. */
  as: (discordId: string, roles?: readonly string[]) => SidecarClient;
  reposDir: string;
  stateDir: string;
  folders: SidecarFolders;
  /** Stops the sidecar alone; tmux goes on. */
  stop: () => Promise<void>;
  /** Stops the sidecar where it runs, and starts it on the same folders and port; tmux goes on. */
  restart: (overrides?: Partial<VmConfig>) => Promise<void>;
  /** Ends the sidecar, its tmux server and everything in it, and removes the folders. */
  close: () => Promise<void>;
}

export interface SpawnedSidecar extends Omit<TestSidecar, "restart"> {
  pid: () => number;
  /** The exit code of the process that runs now, once it has ended. */
  exited: () => Promise<number | null>;
  /** SIGKILL; returns when the process is gone. */
  kill9: () => Promise<void>;
  /** Starts it again, on the same folders and port, with the same environment and `env`. */
  start: (env?: Record<string, string>) => Promise<void>;
}

/** @param stateName what the state folder is called; below a short temporary folder. */
export function makeSidecarFolders(stateName = "s"): SidecarFolders {
  const { path, remove } = makeFolder();
  const folders = { path, reposDir: join(path, "r"), stateDir: join(path, stateName), home: join(path, "h") };
  mkdirSync(folders.reposDir);
  mkdirSync(folders.home);
  const env = {
    REPOS_DIR: folders.reposDir,
    STATE_DIR: folders.stateDir,
    VM_PORT: "0",
    VM_TOKEN: TOKEN,
    RELAY_TOKEN,
    LOG_LEVEL: "silent",
    // Each start in a sandbox takes two or three more processes: tests of it turn it on.
    AGENT_SANDBOX: "off",
    PATH: process.env["PATH"] ?? "",
    HOME: folders.home,
    SHELL: "/bin/bash",
    [RUN_VARIABLE]: runId(),
    THREAD_ENV: RUN_VARIABLE,
  };
  const socket = join(folders.stateDir, "tmux.sock");
  const tmux = async (...args: string[]) =>
    (await run("tmux", ["-u", "-S", socket, "-f", "/dev/null", ...args], { timeout: 25_000 })).stdout;
  const tmuxPid = () => {
    const pid = Number(readFileSync(join(folders.stateDir, "tmux.pid"), "utf8"));
    if (pid < 2) throw new Error("tmux.pid is empty"); // a signal to 0 would go to these tests themselves
    return pid;
  };
  const close = async () => {
    // One look can miss a process that comes to be while it is taken, if the one that started it has gone by then: a
    // tmux server that is just starting. The next look finds it.
    let emptyLooks = 0;
    await until(`every process below ${path} to end`, () => {
      const left = findProcessesOf(path);
      for (const { pid } of left) signal(pid, "SIGKILL");
      emptyLooks = left.length === 0 ? emptyLooks + 1 : 0;
      return emptyLooks === 2;
    });
    const groups = Cgroups.open(folders.stateDir);
    BudgetGroups.open(folders.stateDir, groups).close(); // of threads that were open to the last
    groups?.close();
    remove();
  };
  return { ...folders, env, tmux, tmuxPid, close };
}

/** Runs a sidecar inside this process; it logs nothing unless it is given a log, and has the real clock. */
export async function startSidecar(
  overrides: Partial<VmConfig> = {},
  {
    folders = makeSidecarFolders(),
    log = createLog("vm", process.env["THREADMUX_TEST_LOG"] === "error" ? "error" : "silent"),
    now = Date.now,
    canPunchLogs = true,
    canUseCgroups = true,
    budgetLookMs = 5_000,
    viewersLimits = {},
    eventsLimits = {},
    totalIntervalMs = 10_000,
    ...others
  }: Pick<SidecarOptions, "guestKinds" | "page"> & {
    folders?: SidecarFolders;
    log?: Log;
    now?: () => number;
    canPunchLogs?: boolean;
    canUseCgroups?: boolean;
    budgetLookMs?: number;
    viewersLimits?: Partial<ViewersLimits>;
    eventsLimits?: Pick<HubOptions, "lookMs" | "maxReaders">;
    totalIntervalMs?: number;
  } = {},
): Promise<TestSidecar> {
  let config: VmConfig = { ...parseVmConfig(folders.env), ...overrides };
  let sidecar: Sidecar | undefined;
  const start = async () => {
    sidecar = await runSidecar(config, {
      log,
      now,
      canPunchLogs,
      canUseCgroups,
      budgetLookMs,
      viewersLimits,
      eventsLimits,
      totalIntervalMs,
      ...others,
    });
    return sidecar;
  };
  const stop = async () => {
    await sidecar?.close();
    sidecar = undefined;
  };
  try {
    const { url, hookUrl, token, relayToken } = await start();
    config = { ...config, port: Number(new URL(url).port) };
    return {
      url,
      hookUrl,
      token,
      relayToken,
      client: new SidecarClient({ url, token }),
      as: (discordId, roles) =>
        new SidecarClient({ url, token: relayToken, ...(roles && { rolesOf: () => roles }) }, discordId),
      reposDir: config.reposDir,
      stateDir: config.stateDir,
      folders,
      stop,
      restart: async (changes = {}) => {
        await stop();
        config = { ...config, ...changes };
        await start();
      },
      close: async () => {
        await stop();
        await folders.close();
      },
    };
  } catch (error) {
    await folders.close();
    throw error;
  }
}

/** Runs a sidecar as a process of its own, from its sources, so that it can be killed. */
export async function spawnSidecar(
  env: Record<string, string> = {},
  folders = makeSidecarFolders(),
): Promise<SpawnedSidecar> {
  let child: ChildProcess | undefined;
  let port = "0";
  let environment: Record<string, string> = { ...folders.env, LOG_LEVEL: "info", ...env };
  const pid = () => child?.pid ?? 0;
  const start = async (changes: Record<string, string> = {}) => {
    environment = { ...environment, VM_PORT: port, ...changes };
    child = spawnMain(environment);
    const url = await findUrl(child);
    port = new URL(url).port;
    return url;
  };
  const end = async (name: NodeJS.Signals) => {
    if (pid() === 0) return;
    signal(pid(), name);
    await until(`the sidecar to end by ${name}`, () => !isAlive(pid()));
    child = undefined;
  };
  try {
    const url = await start();
    const token = environment["VM_TOKEN"] ?? "";
    const relayToken = environment["RELAY_TOKEN"] ?? "";
    return {
      url,
      token,
      relayToken,
      client: new SidecarClient({ url, token }),
      as: (discordId, roles) =>
        new SidecarClient({ url, token: relayToken, ...(roles && { rolesOf: () => roles }) }, discordId),
      reposDir: folders.reposDir,
      stateDir: folders.stateDir,
      folders,
      pid,
      exited: () => new Promise((resolve) => child?.once("exit", resolve)),
      kill9: () => end("SIGKILL"),
      stop: () => end("SIGTERM"),
      start: async (changes) => void (await start(changes)),
      close: async () => {
        await end("SIGTERM");
        await folders.close();
      },
    };
  } catch (error) {
    await folders.close();
    throw error;
  }
}

/** A port of 127.0.0.1 that is free now, for what can't tell which one it took. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** The sidecar's program with exactly this environment, its working directory in the temporary folder. */
export function spawnMain(env: Record<string, string>, args: readonly string[] = []): ChildProcess {
  return spawn(process.execPath, [programFile("vm"), ...args], {
    env,
    cwd: env["HOME"],
    stdio: ["ignore", "ignore", "pipe"],
  });
}

/** The address from its "ready" log line. */
function findUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const seen: string[] = [];
    if (!child.stderr) return reject(new Error("the sidecar's standard error is not a pipe"));
    watchWarnings("the sidecar", child.stderr);
    createInterface({ input: child.stderr }).on("line", (line) => {
      seen.push(line);
      const url = /"url":"([^"]+)"/.exec(line)?.[1];
      if (url) resolve(url);
    });
    child.once("exit", (code) => reject(new Error(`the sidecar ended with ${code}: ${seen.join("\n")}`)));
  });
}
