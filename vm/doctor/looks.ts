/** All looks of the sidecar: its settings first, then its folders, its machine, its agent, and itself. */
import { resolve } from "node:path";
import { ConfigError, findNodeProblem, withoutBlanks } from "../../shared/config.ts";
import { Fault, type Finding, fault, type Look } from "../../shared/doctor.ts";
import { parseVmConfig, type VmConfig } from "../config.ts";
import { agentLooks } from "./agent.ts";
import { browserLooks } from "./browser.ts";
import { machineLooks } from "./machine.ts";
import { askRunning, serverLooks } from "./server.ts";
import { stateLooks } from "./state.ts";
import type { Surroundings } from "./surroundings.ts";

const EDIT_SETTINGS = "set it in the settings (.env, or the service's file)";

/** @param environment of the sidecar, as far as it is known here */
export function looksOfSidecar(
  environment: Record<string, string | undefined>,
  around: Surroundings,
): Look[] {
  const env = withoutBlanks(environment);
  const settings = readSettings(env);
  const stateDir = resolve(env["STATE_DIR"] || "/data/threadmux");
  const reposDir = resolve(env["REPOS_DIR"] || "/data/repos");
  const { config } = settings;
  const threadEnv = config?.threadEnv ?? { PATH: env["PATH"] ?? "" };
  return [
    { name: "Node.js", mend: "install Node.js 24", run: () => lookAtNode(around.nodeVersion) },
    { name: "settings", mend: EDIT_SETTINGS, run: () => settings.findings ?? "they can be used" },
    ...stateLooks({ stateDir, reposDir, env }),
    ...machineLooks({
      ...{ stateDir, env: threadEnv, around },
      findRunning: config ? askRunning(config, env) : async () => undefined,
    }),
    // Without settings that can be used nobody knows which agent and which sidecar are meant.
    ...(config ? agentLooks({ config, env, around }) : []),
    ...(config ? browserLooks(config, around) : []),
    ...(config ? serverLooks({ config, env }) : []),
  ];
}

function readSettings(env: Record<string, string>): { config?: VmConfig; findings?: Finding[] } {
  try {
    return { config: parseVmConfig(env) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { findings: error.problems.map((problem) => fault("settings", problem, EDIT_SETTINGS)) };
  }
}

function lookAtNode(version: string): string {
  const problem = findNodeProblem(version);
  if (problem !== undefined) throw new Fault(problem, "install Node.js 24 (https://nodejs.org)");
  return version;
}
