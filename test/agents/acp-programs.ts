/** Real agents that speak ACP, with the loopback model in place of their own. Only `scripts/test --agents` has them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Call } from "../../agent/engines/demo/script.ts";
import { claudeEnvironment } from "./real.ts";

export interface RealAgent {
  /** The engine knows it by this name. */
  name: string;
  /** The variable that names the folder of its program. */
  variable: string;
  args: readonly string[];
  /** The variables with which it speaks to this model and to nobody else, in a clean environment. */
  env: (url: string) => Record<string, string>;
  /** Files of its home, by their paths. */
  files: (url: string) => Record<string, string>;
  /** A call of its tool that runs a command, and asks first. */
  run: (command: string) => Call;
  /** It goes on with a conversation in another process. */
  resumes: boolean;
}

const CODEX_CONFIG = (url: string) => `model = "gpt-5"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "${url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`;

const OPENCODE_CONFIG = (url: string) => ({
  model: "loopback/local",
  small_model: "loopback/local",
  permission: { bash: "ask", edit: "ask" },
  provider: {
    loopback: {
      npm: "@ai-sdk/openai-compatible",
      name: "loopback",
      options: { baseURL: `${url}/v1`, apiKey: "{env:LOOPBACK_KEY}" },
      models: {
        local: { name: "local", limit: { context: 100_000, output: 4_096 }, cost: { input: 1, output: 2 } },
      },
    },
  },
});

const GEMINI_SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" } },
  privacy: { usageStatisticsEnabled: false },
  general: { disableAutoUpdate: true },
};

export const REAL_AGENTS: readonly RealAgent[] = [
  {
    ...{ name: "codex-acp", variable: "THREADMUX_CODEX_ACP", args: [], resumes: true },
    env: () => ({ LOOPBACK_KEY: "test-key" }),
    files: (url) => ({ ".codex/config.toml": CODEX_CONFIG(url) }),
    run: (cmd) => ({
      name: "exec_command",
      input: { cmd, sandbox_permissions: "require_escalated", justification: "to see it" },
    }),
  },
  {
    ...{ name: "opencode", variable: "THREADMUX_OPENCODE", args: ["acp"], resumes: true },
    env: () => ({ LOOPBACK_KEY: "test-key", OPENCODE_DISABLE_MODELS_FETCH: "1" }),
    files: (url) => ({ ".config/opencode/opencode.json": JSON.stringify(OPENCODE_CONFIG(url)) }),
    run: (command) => ({ name: "bash", input: { command, description: "d" } }),
  },
  {
    ...{ name: "claude-agent-acp", variable: "THREADMUX_CLAUDE_AGENT_ACP", args: [], resumes: true },
    env: (url) => ({
      ...claudeEnvironment({ url }),
      CLAUDE_CODE_EXECUTABLE: process.env["THREADMUX_CLAUDE"] ?? "",
    }),
    files: () => ({}),
    run: (command) => ({ name: "Bash", input: { command, description: "d" } }),
  },
  {
    ...{ name: "gemini", variable: "THREADMUX_GEMINI", resumes: false },
    args: ["--acp", "--skip-trust", "-m", "gemini-2.5-flash"],
    env: (url) => ({ GEMINI_API_KEY: "test-key", GOOGLE_GEMINI_BASE_URL: url }),
    files: () => ({ ".gemini/settings.json": JSON.stringify(GEMINI_SETTINGS) }),
    run: (command) => ({ name: "run_shell_command", input: { command, description: "d" } }),
  },
];

/**
 * The agent's program.
 * @throws Error if nobody has installed it
 */
export function realAgentProgram({ name, variable }: RealAgent): string {
  const folder = process.env[variable];
  if (!folder) throw new Error(`${variable} names no folder: start these tests by scripts/test --agents`);
  return join(folder, name);
}

/** Gives the agent its settings. @param home of the thread */
export function settle(agent: RealAgent, home: string, url: string): void {
  for (const [name, text] of Object.entries(agent.files(url))) {
    const file = join(home, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
