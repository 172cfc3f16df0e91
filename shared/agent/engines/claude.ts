/** Claude Code, by its own program. */
import type { EngineDeclaration, PermissionModes } from "./declaration.ts";

/** Older ones forget a call that ran when they were killed, and run it twice. */
export const MIN_VERSION = "2.1.330";

/** Without the version npm may take an older one, and without `--allow-scripts` npm 12 leaves the program out. */
export const INSTALL_COMMAND = `npm install -g --allow-scripts=@anthropic-ai/claude-code @anthropic-ai/claude-code@${MIN_VERSION}`;

const KEY = "ANTHROPIC_API_KEY";
const BYPASS = "bypassPermissions";

const modes: PermissionModes = {
  names: ["plan", "dontAsk", "default", "acceptEdits", "auto", BYPASS],
  asking: "default",
  editing: "acceptEdits",
  bypass: BYPASS,
};

export const claude = {
  title: "Claude Code",
  provider: "anthropic",
  program: {
    is: "installed",
    name: "claude",
    install: INSTALL_COMMAND,
    version: { args: ["--version"], min: MIN_VERSION },
    signIn: {
      status: ["auth", "status"],
      keys: [KEY],
      how: `claude auth login # as the sidecar's user; or set ${KEY}, and THREAD_ENV=${KEY}`,
    },
  },
  capabilities: {
    steps: true,
    asks: true,
    reasons: true,
    questions: ["AskUserQuestion"],
    modes,
    models: true,
    undo: "calls",
    cost: true,
    rules: true,
    toolRules: true,
    resume: true,
    steering: true,
    systemPrompt: true,
    compact: true,
    outputSchema: "draft-07",
    tools: true,
    images: true,
    // Its compaction window may not be smaller. It compacts somewhat before the window's end.
    params: { thinking: {}, maxInputTokens: { min: 100_000 }, maxOutputTokens: {} },
    calls: true,
    gates: ["before_step", "after_step", "after_complete", "on_error", "on_limit"],
  },
  modelNames: ["opus", "sonnet", "haiku"],
  brings: { folder: ".claude", memory: "CLAUDE.md" },
  records: { folder: ".claude", variable: "CLAUDE_CONFIG_DIR" },
  findBypass,
  mcpCallId: "claudecode/toolUseId",
} as const satisfies EngineDeclaration;

function findBypass(args: readonly string[]): string | undefined {
  const flag = args.find((arg) => /^--(allow-)?dangerously-skip-permissions(=|$)/.test(arg));
  if (flag !== undefined) return flag;
  const isBypass = (arg: string, at: number) =>
    arg === `--permission-mode=${BYPASS}` || (arg === BYPASS && args[at - 1] === "--permission-mode");
  return args.some(isBypass) ? `--permission-mode ${BYPASS}` : undefined;
}

/**
 * The arguments with which it reads one text and ends: whatever the folder, the home or the machine would bring is left
 * out. Its input and output are lines as in a thread.
 */
export function readerArgs(options: {
  system: string;
  schema: Record<string, unknown>;
  maxUsd: number;
}): string[] {
  const { system, schema, maxUsd } = options;
  return [
    ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    ...["--tools", "", "--setting-sources", "", "--strict-mcp-config"],
    ...["--disable-slash-commands", "--no-session-persistence", "--permission-mode", "dontAsk"],
    ...["--system-prompt", system, "--json-schema", JSON.stringify(schema)],
    ...["--max-turns", "3", "--max-budget-usd", String(maxUsd)],
  ];
}
