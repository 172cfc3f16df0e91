/** The scripted stand-in that comes with threadmux. It speaks the protocol of Claude Code's program. */
import { claude } from "./claude.ts";
import type { EngineDeclaration } from "./declaration.ts";

export const demo = {
  title: "the scripted demo",
  program: { is: "ours" },
  capabilities: { ...claude.capabilities, outputSchema: false, params: {} },
  modelNames: claude.modelNames,
  brings: claude.brings,
  records: claude.records,
  findBypass: claude.findBypass,
  mcpCallId: claude.mcpCallId,
} as const satisfies EngineDeclaration;
