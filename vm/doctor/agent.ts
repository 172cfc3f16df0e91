/** Looks at the agent: its program, whether it is signed in, and what keeps it in. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KnownProgram, SignIn } from "../../shared/agent/engines/declaration.ts";
import { ENGINES, findKnownProgram, findProgramOf } from "../../shared/agent/engines/engines.ts";
import { Fault, type Finding, type Look, note, ok } from "../../shared/doctor.ts";
import { findProgram } from "../../shared/find-program.ts";
import { usualProgram } from "../agents/launch.ts";
import { findSignedIn, lookAtProgram } from "../agents/program-state.ts";
import type { VmConfig } from "../config.ts";
import { findSandboxFault } from "../wiring/machine.ts";
import type { Surroundings } from "./surroundings.ts";

export interface AgentOptions {
  config: VmConfig;
  env: Record<string, string>;
  around: Surroundings;
}

export function agentLooks({ config: settings, env, around }: AgentOptions): Look[] {
  const { agent } = settings;
  const { engine = usualProgram({ AGENT_PROGRAM: agent.program }).engine } = agent;
  const { program, args } = findKnownProgram(engine, agent.program, agent.args);
  const config = { ...settings, agent: { ...agent, program, args: [...args] } };
  const looks: Look[] = [
    { name: "sandbox", mend: "apt-get install -y bubblewrap", run: () => lookAtSandbox(config, around) },
  ];
  const { title, program: behind } = ENGINES[engine];
  const known = findProgramOf(engine, program);
  const signIn = behind.is === "ours" ? behind.signIn : known?.signIn;
  const file = behind.is === "ours" ? undefined : findProgram(program, config.threadEnv["PATH"] ?? "");
  if (behind.is === "ours")
    looks.push({ name: "agent", mend: "none", run: () => `${title} comes with threadmux` });
  else {
    const mend = known?.install ?? "set AGENT_PROGRAM to a program that is there";
    looks.push({ name: "agent", mend, run: () => lookAtAgent(config, known, mend) });
  }
  if (signIn && (behind.is === "ours" || file !== undefined))
    looks.push({ name: "sign-in", mend: signIn.how, run: () => lookAtSignIn({ config, env, file, signIn }) });
  return looks;
}

async function lookAtAgent(
  { agent, threadEnv }: VmConfig,
  known: KnownProgram | undefined,
  mend: string,
): Promise<string> {
  const { file, fault, printed } = await lookAtProgram(agent, known, threadEnv);
  if (file === undefined)
    throw new Fault(`AGENT_PROGRAM: ${agent.program} is not on the sidecar's PATH`, mend);
  if (fault) throw new Fault(fault.says, mend);
  return printed === undefined ? file : `${file}, ${printed}`;
}

interface SignInLook extends Pick<AgentOptions, "config" | "env"> {
  file: string | undefined;
  signIn: SignIn;
}

async function lookAtSignIn({ config, env, file, signIn }: SignInLook): Promise<string | Finding[]> {
  const { agent, threadEnv } = config;
  const { keys, how } = signIn;
  const isSignedIn = await findSignedIn(file, signIn, threadEnv);
  if (isSignedIn) return `${agent.program} says that it is signed in`;
  if (isSignedIn === undefined)
    return [note("sign-in", `${agent.program} does not say whether it is signed in`, how)];
  const kept = keys.find((key) => env[key] !== undefined && threadEnv[key] === undefined);
  const hint = kept === undefined ? "" : `; ${kept} is set, but THREAD_ENV does not name it`;
  throw new Fault(
    `${agent.program} is not signed in${hint}`,
    kept === undefined ? how : `set THREAD_ENV=${kept} in the settings`,
  );
}

async function lookAtSandbox(config: VmConfig, around: Surroundings): Promise<Finding[]> {
  const { sandbox, reposDir, sandboxReads: reads = [], sandboxWrites: writes = [] } = config;
  const { sandboxNetwork: network = "off" } = config;
  if (sandbox === "off") return [ok("sandbox", "off, as AGENT_SANDBOX says")];
  // Before the first start there is no folder to hide: any other shows the same.
  const own = existsSync(config.stateDir) ? undefined : mkdtempSync(join(tmpdir(), "threadmux-doctor-"));
  try {
    const places = { reposDir, reads, writes, network };
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
