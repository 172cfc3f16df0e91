/** Our own loop: it calls the model's API itself, and runs tools of its own. */
import type { EngineDeclaration, PermissionModes } from "./declaration.ts";

const modes: PermissionModes = {
  names: ["plan", "default", "acceptEdits", "bypassPermissions"],
  asking: "default",
  editing: "acceptEdits",
  bypass: "bypassPermissions",
};

/** Models that are known to read texts alone, with or without a provider before the name. */
const SEES_NOTHING =
  /(^|[/:])(gpt-3\.5|gpt-oss|o1-mini|o1-preview|o3-mini|deepseek-(chat|reasoner|coder|r1|v3)|qwen[\d.]*-coder|codestral|codellama|starcoder|llama-?3(\.[13])?([-:]|$))/i;

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
    reasons: true,
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
    lacks: (model) => (SEES_NOTHING.test(model) ? ["images"] : []),
    params: { temperature: {}, thinking: {}, maxInputTokens: {}, maxOutputTokens: {}, callSeconds: {} },
    calls: true,
    gates: ["before_step", "after_step", "after_complete", "on_error", "on_limit"],
  },
  mcpCallId: "threadmux/callId",
} as const satisfies EngineDeclaration;
