/** All looks of the relay: its settings, then Discord, then whether the sidecar takes it for its relay. */
import { SidecarClient } from "../../shared/client.ts";
import { ConfigError, withoutBlanks } from "../../shared/config.ts";
import { Fault, type Finding, fault, type Look, note } from "../../shared/doctor.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { threads } from "../../shared/protocol/threads.ts";
import { parseRelayConfig, type RelayConfig } from "../config.ts";
import { findStartProblem } from "../discord/refusals.ts";
import { DiscordLooks } from "./discord.ts";

const SETTINGS = "Discord settings";
const EDIT = 'set it in the settings (.env, or the service\'s file); README.md, "With the real Discord"';
const OWN = ["DISCORD_TOKEN", "DISCORD_CHANNEL_ID", "ALLOWED_USER_IDS"];
const ANSWER_MS = 5_000;

/** @param environment of the relay, as far as it is known here */
export function looksOfRelay(
  environment: Record<string, string | undefined>,
  now: () => number = Date.now,
): Look[] {
  const env = withoutBlanks(environment);
  if (!OWN.some((name) => env[name] !== undefined)) {
    const says = `none are set (${OWN.join(", ")}): no bot; scripts/run has a stand-in for a first try`;
    return [{ name: SETTINGS, mend: EDIT, run: () => [note(SETTINGS, says, EDIT)] }];
  }
  const { config, findings } = readSettings(env);
  const settings: Look = { name: SETTINGS, mend: EDIT, run: () => findings ?? "they can be used" };
  if (!config) return [settings];
  const discord = new DiscordLooks(config, now);
  return [
    settings,
    ...discord.looks(),
    {
      name: "the relay's token",
      mend: "set RELAY_TOKEN as the sidecar has it",
      run: () => lookAtSidecar(config),
    },
  ];
}

function readSettings(env: Record<string, string>): { config?: RelayConfig; findings?: Finding[] } {
  try {
    return { config: parseRelayConfig(env) };
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [errorText(error)];
    return { findings: problems.map((problem) => fault(SETTINGS, problem, EDIT)) };
  }
}

async function lookAtSidecar({ vmUrl, relayToken }: RelayConfig): Promise<string | Finding[]> {
  const client = new SidecarClient({ url: vmUrl, token: relayToken, timeoutMs: ANSWER_MS });
  try {
    await client.call(threads.list, {});
    return `the sidecar at ${vmUrl} takes it`;
  } catch (error) {
    const problem = findStartProblem(error, "list its threads");
    if (problem !== undefined) throw new Fault(problem, "set RELAY_TOKEN as the sidecar has it, on both");
    if (!(error instanceof AppError) || error.code !== "unavailable") throw error;
    return [note("the relay's token", `nobody could be asked: ${error.message}`, null)];
  }
}
