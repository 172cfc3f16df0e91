/** Engine 1: the person's own `claude` over its stream-json protocol. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { forkOf, type ThreadConfig } from "../../../shared/agent/config.ts";
import { ENGINE_FOLDER_MARKER } from "../../../shared/agent/markers.ts";
import { OWN_HOME } from "../../../shared/agent/paths.ts";
import { findOtherNames } from "../../../shared/sandbox/other-names.ts";
import type { Engine, EngineProblem, Env, LaunchRequest, Needs } from "../../engine.ts";
import { deniedPlaces } from "./guard.ts";
import { loadsProjects, planLaunch } from "./launch.ts";
import { lookAround } from "./look-around.ts";
import { needsOf } from "./needs.ts";
import { ClaudeSession } from "./session.ts";
import { readConversation } from "./session-file.ts";
import {
  findSettingsProblem,
  mergeSettings,
  readHomeSettings,
  readSettings,
  type Settings,
} from "./settings.ts";
import { findVersionProblem } from "./version.ts";

const VERSION_TIMEOUT_MS = 20_000;

export function claudeEngine(name: string): Engine {
  return {
    name,
    check: checkProgram,
    lookAround: async ({ dir, launch }, env) => (loadsProjects(launch) ? lookAround(dir, env) : undefined),
    look: async (sessionId, wanted, env) => {
      const file = findSession(sessionId, env);
      return file === undefined ? { exists: false, delivered: new Set() } : readConversation(file, wanted);
    },
    plan: (request) => ({
      ...planLaunch(request, settingsFor(request.config), readHomeSettings(configDir(request.env))),
      needs: needsIn(request),
    }),
    begin: (request) => new ClaudeSession(request, () => findSession(request.launch.sessionId, request.env)),
  };
}

/** Asked before each start: an old one would run effects twice after a crash. */
async function checkProgram(config: ThreadConfig, env: Env): Promise<EngineProblem | undefined> {
  const { program, args } = config.launch;
  const message = findSettingsProblem(config);
  if (message) return { code: "engine_missing", message };
  try {
    const { stdout } = await promisify(execFile)(program, [...args, "--version"], {
      env,
      cwd: config.dir,
      timeout: VERSION_TIMEOUT_MS,
    });
    return findVersionProblem(program, stdout);
  } catch (error) {
    return findVersionProblem(program, error as NodeJS.ErrnoException);
  }
}

/** Gives the person's settings, and denies the paths at which the current mounts show the state folder. */
function settingsFor(config: ThreadConfig): Settings {
  const { stateDir } = config.launch;
  const deny = stateDir === undefined ? [] : deniedPlaces(findOtherNames(stateDir));
  const theirs = findSettings(config);
  return deny.length === 0 ? theirs : mergeSettings(theirs, { permissions: { deny } });
}

/** None if they can't be read: the check says so before the program is told anything. */
function findSettings(config: ThreadConfig): Settings {
  return findSettingsProblem(config) === undefined ? readSettings(config) : {};
}

function configDir(env: Env): string {
  return env["CLAUDE_CONFIG_DIR"] ?? join(env["HOME"] ?? "/", ".claude");
}

function needsIn({ config, launch, env }: LaunchRequest): Needs {
  const set = env["CLAUDE_CONFIG_DIR"];
  const { sessionId } = forkOf(config);
  const ids = [launch.sessionId, ...(sessionId === undefined ? [] : [sessionId])];
  const sessions = ids.flatMap((id) => findSession(id, env) ?? []);
  return needsOf({
    configDir: configDir(env),
    stateFile: join(set ?? env["HOME"] ?? "/", ".claude.json"),
    dir: config.dir,
    sessions,
    args: config.launch.args,
  });
}

/** claude keeps a conversation in a folder that is named after the directory it began in, whichever that is. */
function findSession(sessionId: string, env: Env): string | undefined {
  return placesOfSessions(env)
    .flatMap((projects) => list(projects).map((project) => join(projects, project, `${sessionId}.jsonl`)))
    .find((file) => existsSync(file));
}

/** The thread's own home has those that no name of ours leads to. */
function placesOfSessions(env: Env): string[] {
  const dir = configDir(env);
  const folder = env[ENGINE_FOLDER_MARKER];
  const below = relative(env["HOME"] ?? "/", dir);
  const own = folder === undefined || below.startsWith("..") ? [] : [join(folder, OWN_HOME, below)];
  return [dir, ...own].map((one) => join(one, "projects"));
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
