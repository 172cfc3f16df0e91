/** The sidecar's settings. */
import { join, resolve } from "node:path";
import * as z from "zod";
import { ConfigError, tryEnv, withoutBlanks } from "../shared/config.ts";
import { LOG_LEVELS } from "../shared/log.ts";
import { SANDBOX_MODES, type SandboxMode } from "../shared/sandbox/modes.ts";
import { findBypass, splitArgs } from "./agents/program.ts";
import type { LaunchOptions } from "./agents/requests.ts";
import { findHome, findShell } from "./processes/login.ts";
import { REPOS_IN_STATE, STATE_IN_REPOS } from "./state-dir.ts";
import { isInside } from "./threads/directory.ts";
import type { OrphanPolicy } from "./threads/orphans.ts";

const whole = (min: number, max: number) =>
  z.coerce.number(`must be a whole number from ${min} to ${max}`).int().min(min).max(max);

const flag = () =>
  z
    .enum(["0", "1"], { error: "must be 1 or 0" })
    .default("0")
    .transform((value) => value === "1");

/** A Unix socket's path must fit in 108 bytes with its final NUL. */
const MAX_STATE_DIR_BYTES = 107 - "/tmux.sock".length;

const schema = z.object({
  REPOS_DIR: z.string().default("/data/repos"),
  STATE_DIR: z.string().default("/data/threadmux"),
  VM_HOST: z.string().default("127.0.0.1"),
  VM_PORT: whole(0, 65_535).default(3001),
  VM_TOKEN: z
    .string()
    .min(32, "must have at least 32 characters (make one with: openssl rand -hex 32)")
    .regex(/^[!-~]+$/, "must be of printable ASCII characters without spaces")
    .optional(),
  MAX_THREADS: whole(1, 10_000).default(5),
  MAX_AGENTS: whole(1, 1_000).default(5),
  LOG_MAX_BYTES: whole(1024 * 1024, Number.MAX_SAFE_INTEGER).default(64 * 1024 * 1024),
  STATE_MAX_BYTES: whole(1024 * 1024, Number.MAX_SAFE_INTEGER).default(4 * 1024 * 1024 * 1024),
  LOG_RETENTION_HOURS: whole(1, 24 * 365 * 10).default(168),
  AGENT_PROGRAM: z.string().default("claude"),
  AGENT_ARGS: z.string().default(""),
  AGENT_ENGINE: z.enum(["claude", "command"], { error: "must be claude or command" }).default("claude"),
  AGENT_IDLE_SECONDS: whole(1, 86_400).default(120),
  ASK_PARK_MINUTES: whole(1, 43_200).default(60),
  LOCK_TIMEOUT_SECONDS: whole(1, 86_400).default(30),
  ASK_TIMEOUT_SECONDS: whole(1, 30 * 86_400).optional(),
  ASK_FILES: flag(),
  WORKTREE_SETUP: z.string().max(4_000, "must be at most 4,000 characters").optional(),
  ALLOW_BYPASS: flag(),
  AGENT_SANDBOX: z.enum(SANDBOX_MODES, { error: `must be ${SANDBOX_MODES.join(", ")}` }).default("state"),
  SPEND_LIMIT_USD_PER_DAY: z.coerce
    .number("must be a number of dollars, such as 10 or 2.50")
    .min(0.01, "must be at least 0.01")
    .max(1_000_000, "must be at most 1000000")
    .optional(),
  THREAD_ENV: z
    .string()
    .default("")
    .refine(
      (names) => splitNames(names).every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)),
      "must be names of environment variables, separated by commas",
    ),
  LOG_LEVEL: z.enum(LOG_LEVELS).default("info"),
});

export interface VmConfig {
  reposDir: string;
  stateDir: string;
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Undefined: `STATE_DIR/token` is used, and made where it is missing. */
  token: string | undefined;
  /** Open terminals at once. */
  maxThreads: number;
  /** Agents that have a turn at once; more wait. */
  maxAgents: number;
  /** What one thread's log may take on disk. */
  logMaxBytes: number;
  /** What all logs together may take. */
  stateMaxBytes: number;
  logRetentionHours: number;
  /** The agent's program and how long it waits, for every agent thread. */
  agent: LaunchOptions;
  /** What agents' commands can't see. */
  sandbox: SandboxMode;
  /** Dollars that all agents together may spend on a local day; undefined: as much as they do. */
  spendLimitUsdPerDay?: number;
  /** Whether a file beside an ask's may answer it. */
  askFiles?: boolean;
  /** Run once in each new worktree. */
  worktreeSetup?: string;
  /** The environment of every program in every thread. */
  threadEnv: Record<string, string>;
  logLevel: (typeof LOG_LEVELS)[number];
  /** What becomes of sessions that a lost database no longer knows. */
  orphanPolicy: OrphanPolicy;
}

/**
 * @param args of the program: `--adopt` or `--discard`.
 * @throws ConfigError with every problem at once.
 */
export function parseVmConfig(
  environment: Record<string, string | undefined>,
  args: readonly string[] = [],
): VmConfig {
  const env = withoutBlanks(environment);
  const { values, problems } = tryEnv(schema, env);
  const stateDir = resolve(env["STATE_DIR"] || "/data/threadmux");
  if (Buffer.byteLength(stateDir) > MAX_STATE_DIR_BYTES) {
    problems.push(`STATE_DIR: must be at most ${MAX_STATE_DIR_BYTES} bytes long, tmux's socket is in it`);
  }
  const reposDir = resolve(env["REPOS_DIR"] || "/data/repos");
  // The same is looked at through links once both are there.
  if (isInside(stateDir, reposDir)) problems.push(`REPOS_DIR: ${REPOS_IN_STATE}`);
  else if (isInside(reposDir, stateDir)) problems.push(`STATE_DIR: ${STATE_IN_REPOS}`);
  const host = env["VM_HOST"] || "127.0.0.1";
  if (!isLoopback(host) && !env["VM_TOKEN"]) {
    problems.push(`VM_TOKEN: missing; VM_HOST=${host} can be reached from other machines, so choose a token`);
  }
  problems.push(...problemsOfArgs(args));
  let agentArgs: string[] = [];
  try {
    agentArgs = splitArgs(env["AGENT_ARGS"] ?? "");
  } catch (error) {
    problems.push(`AGENT_ARGS: ${error instanceof Error ? error.message : error}`);
  }
  const bypass = values?.ALLOW_BYPASS ? undefined : findBypass(agentArgs);
  if (bypass !== undefined)
    problems.push(
      `AGENT_ARGS: ${bypass} lets agents do everything without asking; set ALLOW_BYPASS=1 if you mean it`,
    );
  if (values?.AGENT_ENGINE === "command" && values.AGENT_PROGRAM === "demo")
    problems.push("AGENT_ENGINE: must be claude for AGENT_PROGRAM=demo, which speaks its protocol");
  const home = findHome(env["HOME"]);
  if (home === undefined)
    problems.push("HOME: missing, and the user has none; set it to the directory where programs keep theirs");
  if (!values || home === undefined || problems.length > 0) throw new ConfigError(problems);
  return {
    reposDir,
    stateDir,
    host: values.VM_HOST,
    port: values.VM_PORT,
    token: values.VM_TOKEN,
    maxThreads: values.MAX_THREADS,
    maxAgents: values.MAX_AGENTS,
    logMaxBytes: values.LOG_MAX_BYTES,
    stateMaxBytes: values.STATE_MAX_BYTES,
    logRetentionHours: values.LOG_RETENTION_HOURS,
    agent: {
      program: values.AGENT_PROGRAM,
      args: agentArgs,
      allowBypass: values.ALLOW_BYPASS,
      ...(values.AGENT_ENGINE === "command" ? { engine: "command" as const } : {}),
      timeouts: {
        idleSeconds: values.AGENT_IDLE_SECONDS,
        askParkMinutes: values.ASK_PARK_MINUTES,
        lockSeconds: values.LOCK_TIMEOUT_SECONDS,
        ...(values.ASK_TIMEOUT_SECONDS === undefined
          ? {}
          : { askTimeoutSeconds: values.ASK_TIMEOUT_SECONDS }),
      },
    },
    sandbox: values.AGENT_SANDBOX,
    ...(values.SPEND_LIMIT_USD_PER_DAY === undefined
      ? {}
      : { spendLimitUsdPerDay: values.SPEND_LIMIT_USD_PER_DAY }),
    ...(values.ASK_FILES && { askFiles: true }),
    ...(values.WORKTREE_SETUP === undefined ? {} : { worktreeSetup: values.WORKTREE_SETUP }),
    threadEnv: threadEnv(env, splitNames(values.THREAD_ENV), home),
    logLevel: values.LOG_LEVEL,
    orphanPolicy: args.includes("--adopt") ? "adopt" : args.includes("--discard") ? "discard" : "refuse",
  };
}

function problemsOfArgs(args: readonly string[]): string[] {
  const problems = args
    .filter((arg) => arg !== "--adopt" && arg !== "--discard")
    .map((arg) => `unknown argument: ${arg} (there are --adopt and --discard, for a lost database)`);
  if (args.includes("--adopt") && args.includes("--discard"))
    problems.push("--adopt and --discard exclude each other");
  return problems;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function splitNames(names: string): string[] {
  return names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** What every login has, and what `THREAD_ENV` names; nothing else of ours, above all no token. */
function threadEnv(
  env: Record<string, string | undefined>,
  names: string[],
  home: string,
): Record<string, string> {
  const path = env["PATH"] || "/usr/local/bin:/usr/bin:/bin";
  const picked: Record<string, string> = { PATH: path, LANG: "C.UTF-8" };
  for (const name of ["USER", "LOGNAME", "TZ", "TMPDIR", ...names]) {
    const value = env[name];
    if (value !== undefined && value !== "") picked[name] = value;
  }
  // A shell sets SHELL by itself from the list of users if it is not there, to `nologin` too.
  return { ...picked, HOME: home, SHELL: findShell(env["SHELL"], path) };
}

/** Where things lie in the state folder. */
export function statePaths(stateDir: string) {
  return {
    database: join(stateDir, "threadmux.db"),
    token: join(stateDir, "token"),
    lock: join(stateDir, "lock"),
    logs: join(stateDir, "logs"),
    runs: join(stateDir, "runs"),
  };
}
