/** Any agent that speaks the Agent Client Protocol: known ones by a short name, others by their program. */
import type { EngineDeclaration, PermissionModes } from "./declaration.ts";

/** A mode that asks for nothing is left out: nobody can choose it. */
const modes: PermissionModes = {
  names: [
    "plan",
    "read-only",
    "default",
    "build",
    "workspace-write",
    "agent",
    "acceptEdits",
    "autoEdit",
    "auto",
  ],
  asking: "default",
};

/** All of the known agents print it so. */
const VERSION = { args: ["--version"] } as const;

/** Arguments by which one of the known agents asks for nothing. */
const BYPASSES = [
  /^--(yolo|approval-mode=yolo)$/,
  /^--(dangerously-bypass-approvals-and-sandbox|dangerously-skip-permissions)(=|$)/,
  /\b(approval_policy\s*=\s*["']?never|sandbox_mode\s*=\s*["']?danger-full-access)/,
];

export const acp = {
  title: "an agent that speaks the Agent Client Protocol",
  program: {
    is: "any",
    known: [
      {
        name: "codex-acp",
        shortName: "codex",
        install: "npm install -g @agentclientprotocol/codex-acp@2.6.0",
        version: VERSION,
        signIn: { keys: ["OPENAI_API_KEY", "CODEX_API_KEY"], how: "codex login # as the sidecar's user" },
      },
      {
        name: "opencode",
        args: ["acp"],
        install: "npm install -g opencode-ai@1.18.33",
        version: VERSION,
        signIn: { keys: [], how: "opencode auth login # as the sidecar's user" },
      },
      {
        name: "gemini",
        args: ["--acp"],
        install: "npm install -g @google/gemini-cli@0.61.0",
        version: VERSION,
        signIn: { keys: ["GEMINI_API_KEY"], how: "gemini # as the sidecar's user, once" },
      },
      {
        name: "claude-agent-acp",
        shortName: "claude",
        install: "npm install -g @agentclientprotocol/claude-agent-acp@0.100.0",
        version: VERSION,
        signIn: {
          status: ["--cli", "auth", "status"],
          keys: ["ANTHROPIC_API_KEY"],
          how: "claude-agent-acp --cli auth login # as the sidecar's user",
        },
      },
    ],
  },
  capabilities: {
    steps: true,
    asks: true,
    questions: [],
    modes,
    models: false,
    undo: "turns",
    cost: false,
    rules: false,
    resume: true,
    steering: true,
    systemPrompt: false,
    compact: false,
    outputSchema: false,
    tools: true,
    images: true,
    params: { callSeconds: {} },
    gates: ["on_error", "on_limit"],
  },
  findBypass,
} as const satisfies EngineDeclaration;

function findBypass(args: readonly string[], program?: string): string | undefined {
  const isGemini = program !== undefined && /(^|\/)gemini$/.test(program);
  const at = args.findIndex(
    (arg, i) =>
      BYPASSES.some((pattern) => pattern.test(arg)) ||
      (arg === "yolo" && args[i - 1] === "--approval-mode") ||
      // For other programs, such as npx, this is a word that says nothing of asking.
      (arg === "-y" && isGemini),
  );
  return at < 0 ? undefined : args[at] === "yolo" ? "--approval-mode yolo" : args[at];
}
