/** Any program that is run once a message and prints its answer. */
import type { EngineDeclaration } from "./declaration.ts";

export const command = {
  title: "a program that is run once a message",
  program: { is: "any" },
  capabilities: {
    questions: [],
    models: false,
    undo: "turns",
    cost: false,
    rules: false,
    resume: false,
    steering: false,
    systemPrompt: false,
    compact: false,
    outputSchema: false,
    tools: false,
    gates: ["on_error", "on_limit"],
  },
} as const satisfies EngineDeclaration;
