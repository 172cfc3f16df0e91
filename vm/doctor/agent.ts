/** Looks at the agent: its program, whether it is signed in, and what keeps it in. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findVersionFault } from "../../shared/agent/claude-version.ts";
import { INSTALL_COMMAND } from "../../shared/agent/engines/claude.ts";
import { DEFAULT_ENGINE, ENGINES } from "../../shared/agent/engines/engines.ts";
import { Fault, type Finding, type Look, note, ok } from "../../shared/doctor.ts";
import { findProgram } from "../../shared/find-program.ts";
import { usualProgram } from "../agents/launch.ts";
import type { VmConfig } from "../config.ts";
import { findSandboxFault } from "../wiring/machine.ts";
import type { Surroundings } from "./surroundings.ts";

const PROGRAM_MS = 15_000;
const KEY = "ANTHROPIC_API_KEY";
const SIGN_IN = `claude auth login # as the sidecar's user; or set ${KEY}, and THREAD_ENV=${KEY}`;

export interface AgentOptions {
  config: VmConfig;
  env: Record<string, string>;
  around: Surroundings;
}

export function agentLooks({ config, env, around }: AgentOptions): Look[] {
  const { program, engine = usualProgram({ AGENT_PROGRAM: program }).engine } = config.agent;
  const looks: Look[] = [
    { name: "sandbox", mend: "apt-get install -y bubblewrap", run: () => lookAtSandbox(config, around) },
  ];
  const { title, program: behind } = ENGINES[engine];
  if (behind.is === "ours") {
    const says = `${title}, no model is behind it`;
    return [...looks, { name: "agent", mend: INSTALL_COMMAND, run: () => says }];
  }
  const isInstalled = behind.is === "installed";
  const mend = isInstalled ? behind.install : "set AGENT_PROGRAM to a program that is there";
  const file = findProgram(program, config.threadEnv["PATH"] ?? "");
  looks.push({ name: "agent", mend, run: () => lookAtProgram(config, file, mend) });
  if (isInstalled && file !== undefined)
    looks.push({ name: "sign-in", mend: SIGN_IN, run: () => lookAtSignIn(config, env) });
  return looks;
}

async function lookAtProgram(
  { agent, threadEnv }: VmConfig,
  file: string | undefined,
  mend: string,
): Promise<string> {
  if (file === undefined)
    throw new Fault(`AGENT_PROGRAM: ${agent.program} is not on the sidecar's PATH`, mend);
  if (ENGINES[agent.engine ?? DEFAULT_ENGINE].program.is === "any") return file;
  const outcome = await run(agent.program, [...agent.args, "--version"], threadEnv).then(
    ({ stdout }) => stdout,
    (error: NodeJS.ErrnoException) => error,
  );
  const found = findVersionFault(agent.program, outcome);
  if (found) throw new Fault(found.says, mend);
  return `${file}, ${String(outcome).trim().split("\n")[0]}`;
}

/** By the program's own word alone: what it prints of the account, and its files, are nobody's business here. */
async function lookAtSignIn(
  { agent, threadEnv }: VmConfig,
  env: Record<string, string>,
): Promise<string | Finding[]> {
  const exit = await run(agent.program, ["auth", "status"], threadEnv).then(
    () => 0,
    (error: { code?: number | string; killed?: boolean }) => (error.killed ? "late" : error.code),
  );
  if (exit === 0) return `${agent.program} says that it is signed in`;
  if (exit !== 1) return [note("sign-in", `${agent.program} does not say whether it is signed in`, SIGN_IN)];
  const isKept = env[KEY] !== undefined && threadEnv[KEY] === undefined;
  const hint = isKept ? `; ${KEY} is set, but THREAD_ENV does not name it` : "";
  throw new Fault(
    `${agent.program} is not signed in${hint}`,
    isKept ? `set THREAD_ENV=${KEY} in the settings` : SIGN_IN,
  );
}

async function lookAtSandbox(config: VmConfig, around: Surroundings): Promise<Finding[]> {
  const { sandbox, reposDir, sandboxReads: reads = [], sandboxWrites: writes = [] } = config;
  if (sandbox === "off") return [ok("sandbox", "off, as AGENT_SANDBOX says")];
  // Before the first start there is no folder to hide: any other shows the same.
  const own = existsSync(config.stateDir) ? undefined : mkdtempSync(join(tmpdir(), "threadmux-doctor-"));
  try {
    const places = { reposDir, reads, writes };
    const { health } = await around.findSandbox(sandbox, own ?? config.stateDir, config.threadEnv, places);
    const fault = findSandboxFault(health);
    if (fault) throw fault;
    if (health.problem === null) return [ok("sandbox", `${sandbox}, by ${health.form}`)];
    const says = `this machine refuses ${sandbox} (${health.problem}): agents run without a sandbox`;
    return [note("sandbox", says, "apt-get install -y bubblewrap # and let this user have user namespaces")];
  } finally {
    if (own !== undefined) rmSync(own, { recursive: true, force: true });
  }
}

function run(program: string, args: readonly string[], env: Record<string, string>) {
  // No directory's own settings play a part at the root.
  return promisify(execFile)(program, args, { env, cwd: "/", timeout: PROGRAM_MS, killSignal: "SIGKILL" });
}
