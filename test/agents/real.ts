/** The real coding agent, with the loopback model in place of its own. Only `scripts/test --agents` has it. */
import type { Model } from "./model.ts";
import type { Engine } from "./session.ts";

/**
 * Its program.
 * @throws Error if nobody has installed it.
 */
export function claudeProgram(): string {
  const program = process.env["THREADMUX_CLAUDE"];
  if (!program)
    throw new Error("THREADMUX_CLAUDE names no program: start these tests by scripts/test --agents");
  return program;
}

/** What it needs in a clean environment to speak to nobody but this model. */
export function claudeEnvironment({ url }: Pick<Model, "url">): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "test-key",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
    // Root may then choose bypassPermissions, as in any container.
    IS_SANDBOX: "1",
  };
}

export function claude(model: Model): Engine {
  return { command: [claudeProgram()], env: claudeEnvironment(model) };
}
