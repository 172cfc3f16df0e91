/** Wires a runner: its folder's configuration, the engine, the loop. */
import { readFileSync, realpathSync } from "node:fs";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type ThreadConfig, threadConfigSchema, timeoutsSchema } from "../shared/agent/config.ts";
import { BYPASS_ALLOWED, STATE_FOLDER } from "../shared/agent/markers.ts";
import { threadPath } from "../shared/agent/paths.ts";
import { ConfigError, withoutBlanks } from "../shared/config.ts";
import { errorText } from "../shared/errors.ts";
import type { Env } from "./engine.ts";
import { adapterOf } from "./engines/adapters.ts";
import { Runner } from "./runner.ts";

const ENGINES_FOLDER = fileURLToPath(new URL("./engines/", import.meta.url));

/** @throws ConfigError if the folder holds no thread that this version can run. */
export async function runAgent(path: string, environment: NodeJS.ProcessEnv, pane: Writable): Promise<void> {
  const env = Object.fromEntries(
    Object.entries(environment).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])),
  );
  const folder = findFolder(path);
  const config = withRights(withTimeouts(readConfig(folder), env), env);
  await new Runner({
    folder,
    config,
    engine: adapterOf(config.agent.engine, ENGINES_FOLDER),
    env,
    pane,
  }).run();
}

function findFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new ConfigError([`the thread's folder ${path}: ${errorText(error)}`]);
  }
}

function readConfig(folder: string): ThreadConfig {
  const path = threadPath(folder, "config");
  try {
    const parsed = threadConfigSchema.safeParse(JSON.parse(readFileSync(path, "utf8")));
    if (parsed.success) return parsed.data;
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${path}: ${issue.path.join(".") || "the file"}: ${issue.message}`),
    );
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([`${path}: ${errorText(error)}`]);
  }
}

/** The environment's settings stand above the thread's: they are this machine's. */
function withTimeouts(config: ThreadConfig, env: Env): ThreadConfig {
  const set = withoutBlanks(env);
  const number = (name: string) => (set[name] === undefined ? undefined : Number(set[name]));
  const chosen = {
    idleSeconds: number("AGENT_IDLE_SECONDS"),
    askParkMinutes: number("ASK_PARK_MINUTES"),
    askTimeoutSeconds: number("ASK_TIMEOUT_SECONDS"),
    lockSeconds: number("LOCK_TIMEOUT_SECONDS"),
  };
  const parsed = timeoutsSchema.safeParse({ ...config.timeouts, ...withoutUndefined(chosen) });
  if (parsed.success) return { ...config, timeouts: parsed.data };
  throw new ConfigError(
    parsed.error.issues.map((issue) => `${VARIABLES[String(issue.path[0])]}: ${issue.message}`),
  );
}

/** What this machine allows, whatever it allowed when the thread was made. */
function withRights(config: ThreadConfig, env: Env): ThreadConfig {
  const { stateDir: _, ...launch } = config.launch;
  const stateDir = env[STATE_FOLDER];
  const rights = { allowBypass: env[BYPASS_ALLOWED] === "1", ...(stateDir !== undefined && { stateDir }) };
  return { ...config, launch: { ...launch, ...rights } };
}

const VARIABLES: Record<string, string> = {
  idleSeconds: "AGENT_IDLE_SECONDS",
  askParkMinutes: "ASK_PARK_MINUTES",
  askTimeoutSeconds: "ASK_TIMEOUT_SECONDS",
  lockSeconds: "LOCK_TIMEOUT_SECONDS",
};

function withoutUndefined(record: Record<string, number | undefined>): Record<string, number> {
  return Object.fromEntries(Object.entries(record).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
}
