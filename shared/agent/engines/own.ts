/** Our own loop: it calls the model's API itself, and runs tools of its own. */
import type { EngineDeclaration, PermissionModes } from "./declaration.ts";

const modes: PermissionModes = {
  names: ["plan", "default", "acceptEdits", "bypassPermissions"],
  asking: "default",
  editing: "acceptEdits",
  bypass: "bypassPermissions",
};

export const own = {
  title: "threadmux's own agent",
  program: {
    is: "ours",
    signIn: {
      keys: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENAI_COMPATIBLE_BASE_URL"],
      how: "set ANTHROPIC_API_KEY, or another provider's, and THREAD_ENV=ANTHROPIC_API_KEY",
    },
  },
  capabilities: {
    steps: true,
    asks: true,
    questions: ["ask_user"],
    modes,
    models: true,
    undo: "calls",
    cost: true,
    rules: true,
    resume: true,
    keepsCalls: true,
    steering: true,
    systemPrompt: true,
    compact: true,
    outputSchema: "all",
    tools: true,
    images: true,
    params: { temperature: {}, thinking: {}, maxInputTokens: {}, maxOutputTokens: {}, callSeconds: {} },
    calls: true,
    gates: ["before_step", "after_step", "after_complete", "on_error", "on_limit"],
  },
  mcpCallId: "threadmux/callId",
} as const satisfies EngineDeclaration;
