/** The sidecar's settings. */
import { join, resolve } from "node:path";
import * as z from "zod";
import { ENGINE_NAMES, findBypass } from "../shared/agent/engines/engines.ts";
import { ConfigError, splitNames, tryEnv, withoutBlanks } from "../shared/config.ts";
import { LOG_LEVELS } from "../shared/log.ts";
import { networkSetting, SANDBOX_MODES, type SandboxMode } from "../shared/sandbox/modes.ts";
import { type LaunchOptions, problemsOfEngine, usualProgram } from "./agents/launch.ts";
import { splitArgs } from "./agents/program.ts";
import { type BrowserSettings, browserSettings, findBrowserSettings } from "./browser/settings.ts";
import { type Budget, budgetSettings, findBudget } from "./budget-settings.ts";
import { type FileSettings, fileSettings, findFileSettings, flag } from "./file-settings.ts";
import { findHookPlace, type HookPlace, hookSettings, problemsOfHooks } from "./hook-place.ts";
import { namedPaths } from "./named-paths.ts";
import { findHome, threadEnv } from "./processes/login.ts";
import { REPOS_IN_STATE, SAME_TOKENS, STATE_IN_REPOS } from "./state-dir.ts";
import { isInside } from "./threads/directory.ts";
import type { OrphanPolicy } from "./threads/orphans.ts";

const whole = (min: number, max: number) =>
  z.coerce.number(`must be a whole number from ${min} to ${max}`).int().min(min).max(max);

const token = () =>
  z
    .string()
    .min(32, "must have at least 32 characters (make one with: openssl rand -hex 32)")
    .regex(/^[!-~]+$/, "must be of printable ASCII characters without spaces")
    .optional();

const orList = (names: readonly string[]) => names.join(", ").replace(/, (?=[^,]*$)/, " or ");

/** A Unix socket's path must fit in 108 bytes with its final NUL. */
const MAX_STATE_DIR_BYTES = 107 - "/tmux.sock".length;

/** Each variable that the sidecar reads, and what it does: `docs/configuration.md` and `.env.example` are made of it. */
export const vmSettings = z.object({
  REPOS_DIR: z
    .string()
    .default("/data/repos")
    .describe(
      "Threads run in directories below this one, nowhere else. `scripts/run` sets it to `./workspace`. It may not be in `STATE_DIR`.",
    ),
  STATE_DIR: z
    .string()
    .default("/data/threadmux")
    .describe(
      "The state folder (mode 0700): tmux's socket, database, logs and tokens. The relay only reads its token there. It may not be in a git work tree, nor in `REPOS_DIR`. `scripts/run` sets it to a folder below `~/.local/state/threadmux`, which the file `.state-dir` names.",
    ),
  VM_HOST: z
    .string()
    .default("127.0.0.1")
    .describe("The address where the sidecar listens. Any address but loopback demands `VM_TOKEN`."),
  VM_PORT: whole(0, 65_535).default(3001).describe("The port where the sidecar listens."),
  VM_TOKEN: token().describe(
    "The owner's bearer token, which `threadmux` and scripts show the sidecar: at least 32 characters (`openssl rand -hex 32`). If it is not set, the sidecar makes one and keeps it in `STATE_DIR/token`.",
  ),
  RELAY_TOKEN: token().describe(
    "The relay's bearer token, which alone may act in the name of people in Discord. It must differ from `VM_TOKEN`. If it is not set, the sidecar makes one and keeps it in `STATE_DIR/relay-token`; a relay on another machine needs it set on both.",
  ),
  ...hookSettings,
  MAX_THREADS: whole(1, 10_000).default(5).describe("How many terminals may be open at once."),
  MAX_AGENTS: whole(1, 1_000)
    .default(5)
    .describe("How many agents may have a turn at once. More wait in order; an idle agent takes no place."),
  ...budgetSettings,
  ...browserSettings,
  MAX_ROOMS: whole(1, 1_000)
    .default(50)
    .describe("How many rooms may be open at once. A room that rests counts; one that was ended does not."),
  MAX_JOBS: whole(1, 100_000)
    .default(300)
    .describe("How many jobs there may be, of all people together; one person may have 100 of them."),
  LOG_MAX_BYTES: whole(1024 * 1024, Number.MAX_SAFE_INTEGER)
    .default(64 * 1024 * 1024)
    .describe("How many bytes of disk one thread's log may hold. Older output is given back, offsets stay."),
  STATE_MAX_BYTES: whole(1024 * 1024, Number.MAX_SAFE_INTEGER)
    .default(4 * 1024 * 1024 * 1024)
    .describe(
      "How many bytes of disk all threads together may take, logs and agents' folders. Ended threads go first, the oldest before the others; then the largest log is halved.",
    ),
  LOG_RETENTION_HOURS: whole(1, 24 * 365 * 10)
    .default(168)
    .describe("How many hours the log and the row of an ended thread stay."),
  AGENT_PROGRAM: z
    .string()
    .optional()
    .describe(
      "The program of the default engine (`AGENT_ENGINE`), by its name on `PATH` or its path. If it is not set: `claude` for the engine `claude`. `demo` names the scripted stand-in that comes with threadmux; `scripts/run` takes it if there is no `claude` on `PATH`.",
    ),
  AGENT_ARGS: z.string().default("").describe("Arguments of your own for that program."),
  AGENT_ENGINE: z
    .enum(ENGINE_NAMES, { error: `must be ${orList(ENGINE_NAMES)}` })
    .optional()
    .describe(
      "The engine of a thread whose creator names none (`agent.engine`): `claude`, `demo`, `own` for the agent that comes with threadmux and calls a model's API itself (see [agents.md](agents.md#threadmuxs-own-agent)), `acp` for an agent that speaks the Agent Client Protocol (`AGENT_PROGRAM` is `codex`, `opencode`, `gemini`, `claude` or any other), or `command` for any program that is run once a message, gets it on standard input, or in the place of `{prompt}` in `AGENT_ARGS` (put `--` before it), and prints its answer. If it is not set: `demo` if `AGENT_PROGRAM` is that, else `claude`.",
    ),
  AGENT_IDLE_SECONDS: whole(1, 86_400)
    .default(120)
    .describe(
      "After how many seconds without work an agent's processes end. The next message starts them again on the same conversation.",
    ),
  ASK_PARK_MINUTES: whole(1, 43_200)
    .default(60)
    .describe(
      "After how many minutes an unanswered ask keeps no process waiting. It can be answered all the same.",
    ),
  LOCK_TIMEOUT_SECONDS: whole(1, 86_400)
    .default(30)
    .describe(
      "How many seconds an agent waits for a file that another agent writes. Then its model is told who has it.",
    ),
  ASK_TIMEOUT_SECONDS: whole(1, 30 * 86_400)
    .optional()
    .describe("After how many seconds an unanswered ask is refused. If it is not set: never."),
  MAIN_PROMPT_FILE: z
    .string()
    .startsWith("/", "must be an absolute path")
    .optional()
    .describe("A file, at most 64 KiB, which a main agent that is made has in its system text."),
  ...fileSettings,
  WORKTREE_SETUP: z
    .string()
    .max(4_000, "must be at most 4,000 characters")
    .optional()
    .describe(
      "A shell command that is run once in each new worktree before its agent begins, such as `npm ci`.",
    ),
  ALLOW_BYPASS: flag().describe(
    "`1` allows the mode `bypassPermissions`, in which an agent asks for nothing. `0`: it is refused, wherever it is chosen.",
  ),
  AGENT_SANDBOX: z
    .enum(SANDBOX_MODES, { error: `must be ${SANDBOX_MODES.join(", ")}` })
    .default("state")
    .describe(
      "What agents' commands can't see. `state`: `STATE_DIR`. `secrets`: also `~/.ssh`, `~/.aws`, `~/.netrc` and the like. `workspace`: also the home and all repositories but the thread's own, which alone can be written; it needs `bwrap`. `off`: they see all that the sidecar's user sees. If the machine refuses the sandbox, `/status` says so; with `workspace` the sidecar does not start.",
    ),
  AGENT_SANDBOX_READ: z
    .string()
    .default("")
    .describe(
      "With `AGENT_SANDBOX=workspace`: paths, separated by commas, that agents may read besides, such as `~/.m2/repository`.",
    ),
  AGENT_SANDBOX_WRITE: z
    .string()
    .default("")
    .describe("With `AGENT_SANDBOX=workspace`: paths that agents may write besides, such as `~/.codex`."),
  AGENT_SANDBOX_NETWORK: networkSetting,
  SPEND_LIMIT_USD_PER_DAY: z.coerce
    .number("must be a number of dollars, such as 10 or 2.50")
    .min(0.01, "must be at least 0.01")
    .max(1_000_000, "must be at most 1000000")
    .optional()
    .describe(
      "Dollars that all agents together may spend on one local day of the sidecar's machine. If it is not set: as much as they do.",
    ),
  THREAD_ENV: z
    .string()
    .default("")
    .refine(
      (names) => splitNames(names).every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)),
      "must be names of environment variables, separated by commas",
    )
    .describe(
      "Names of variables, separated by commas, that the programs in threads get from the sidecar's environment, besides `PATH`, `HOME` and the like. For an agent's key: `THREAD_ENV=ANTHROPIC_API_KEY`, and `ANTHROPIC_API_KEY` itself below it.",
    ),
  LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default("info")
    .describe(
      "`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. The log is JSON lines on standard error.",
    ),
});

export interface VmConfig extends FileSettings {
  reposDir: string;
  stateDir: string;
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Undefined: `STATE_DIR/token` is used, and made where it is missing. */
  token: string | undefined;
  /** The relay's. Undefined: `STATE_DIR/relay-token` is used, and made where it is missing. */
  relayToken: string | undefined;
  /** Undefined: the hook's door is shut. */
  hooks?: HookPlace | undefined;
  /** Open terminals at once. */
  maxThreads: number;
  /** Agents that have a turn at once; more wait. */
  maxAgents: number;
  /** Open rooms at once. */
  maxRooms: number;
  /** The most jobs of all people together. */
  maxJobs: number;
  /** The budget of threads that name none. */
  budget: Budget;
  browser: BrowserSettings;
  /** What one thread's log may take on disk. */
  logMaxBytes: number;
  /** What all logs together may take. */
  stateMaxBytes: number;
  logRetentionHours: number;
  /** The agent's program and how long it waits, for every agent thread. */
  agent: LaunchOptions;
  /** What agents' commands can't see. */
  sandbox: SandboxMode;
  /** Paths that agents in the sandbox `workspace` may read, and write, besides. */
  sandboxReads?: string[];
  sandboxWrites?: string[];
  /** Whether commands of our own engine in the sandbox `workspace` reach the network. */
  sandboxNetwork?: "on" | "off";
  /** Dollars that all agents together may spend on a local day; undefined: as much as they do. */
  spendLimitUsdPerDay?: number;
  mainPromptFile?: string;
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
  const { values, problems } = tryEnv(vmSettings, env);
  const stateDir = resolve(env["STATE_DIR"] || "/data/threadmux");
  if (Buffer.byteLength(stateDir) > MAX_STATE_DIR_BYTES) {
    problems.push(`STATE_DIR: must be at most ${MAX_STATE_DIR_BYTES} bytes long, tmux's socket is in it`);
  }
  const reposDir = resolve(env["REPOS_DIR"] || "/data/repos");
  // The same is looked at through links once both are there.
  if (isInside(stateDir, reposDir)) problems.push(`REPOS_DIR: ${REPOS_IN_STATE}`);
  else if (isInside(reposDir, stateDir)) problems.push(`STATE_DIR: ${STATE_IN_REPOS}`);
  const host = env["VM_HOST"] || "127.0.0.1";
  problems.push(...problemsOfTokens(env, host), ...problemsOfHooks(env));
  problems.push(...problemsOfArgs(args));
  let agentArgs: string[] = [];
  try {
    agentArgs = splitArgs(env["AGENT_ARGS"] ?? "");
  } catch (error) {
    problems.push(`AGENT_ARGS: ${error instanceof Error ? error.message : error}`);
  }
  problems.push(...problemsOfAgent(values, agentArgs));
  const home = findHome(env["HOME"]);
  if (home === undefined)
    problems.push("HOME: missing, and the user has none; set it to the directory where programs keep theirs");
  const named = namedPaths(env, home, stateDir);
  problems.push(...named.problems);
  if (!values || home === undefined || problems.length > 0) throw new ConfigError(problems);
  return {
    reposDir,
    stateDir,
    host: values.VM_HOST,
    port: values.VM_PORT,
    token: values.VM_TOKEN,
    relayToken: values.RELAY_TOKEN,
    hooks: findHookPlace(values),
    maxThreads: values.MAX_THREADS,
    maxAgents: values.MAX_AGENTS,
    maxRooms: values.MAX_ROOMS,
    maxJobs: values.MAX_JOBS,
    budget: findBudget(values),
    browser: findBrowserSettings(values),
    logMaxBytes: values.LOG_MAX_BYTES,
    stateMaxBytes: values.STATE_MAX_BYTES,
    logRetentionHours: values.LOG_RETENTION_HOURS,
    agent: {
      ...usualProgram(values),
      args: agentArgs,
      allowBypass: values.ALLOW_BYPASS,
      timeouts: {
        idleSeconds: values.AGENT_IDLE_SECONDS,
        askParkMinutes: values.ASK_PARK_MINUTES,
        lockSeconds: values.LOCK_TIMEOUT_SECONDS,
        ...(values.ASK_TIMEOUT_SECONDS === undefined
          ? {}
          : { askTimeoutSeconds: values.ASK_TIMEOUT_SECONDS }),
      },
    },
    ...{ sandbox: values.AGENT_SANDBOX, sandboxNetwork: values.AGENT_SANDBOX_NETWORK },
    ...named.paths,
    ...dayLimitOf(values.SPEND_LIMIT_USD_PER_DAY),
    ...findFileSettings(values),
    ...(values.MAIN_PROMPT_FILE !== undefined && { mainPromptFile: values.MAIN_PROMPT_FILE }),
    ...(values.WORKTREE_SETUP === undefined ? {} : { worktreeSetup: values.WORKTREE_SETUP }),
    threadEnv: threadEnv(env, splitNames(values.THREAD_ENV), home),
    logLevel: values.LOG_LEVEL,
    orphanPolicy: args.includes("--adopt") ? "adopt" : args.includes("--discard") ? "discard" : "refuse",
  };
}

function dayLimitOf(usd: number | undefined): Pick<VmConfig, "spendLimitUsdPerDay"> {
  return usd === undefined ? {} : { spendLimitUsdPerDay: usd };
}

function problemsOfAgent(
  values: z.output<typeof vmSettings> | undefined,
  agentArgs: readonly string[],
): string[] {
  const problems: string[] = [];
  const bypass = values?.ALLOW_BYPASS ? undefined : findBypass(agentArgs);
  if (bypass !== undefined)
    problems.push(
      `AGENT_ARGS: ${bypass} lets agents do everything without asking; set ALLOW_BYPASS=1 if you mean it`,
    );
  return [...problems, ...problemsOfEngine(values ?? {})];
}

function problemsOfTokens(env: Record<string, string>, host: string): string[] {
  const { VM_TOKEN, RELAY_TOKEN } = env;
  const problems: string[] = [];
  if (!isLoopback(host) && VM_TOKEN === undefined)
    problems.push(`VM_TOKEN: missing; VM_HOST=${host} can be reached from other machines, so choose a token`);
  if (RELAY_TOKEN !== undefined && RELAY_TOKEN === VM_TOKEN) problems.push(`RELAY_TOKEN: ${SAME_TOKENS}`);
  return problems;
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

/** Where things lie in the state folder. */
export function statePaths(stateDir: string) {
  return {
    database: join(stateDir, "threadmux.db"),
    memoryIndex: join(stateDir, "memory-index.db"),
    token: join(stateDir, "token"),
    relayToken: join(stateDir, "relay-token"),
    lock: join(stateDir, "lock"),
    logs: join(stateDir, "logs"),
    runs: join(stateDir, "runs"),
  };
}
