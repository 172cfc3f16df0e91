/** The tools that one engine process has, and what they keep running in it. */
import { edit } from "./edit.ts";
import { read } from "./read.ts";
import { type AnyTool, anyTool } from "./tool.ts";
import { write } from "./write.ts";

export interface ToolSet {
  readonly tools: readonly AnyTool[];
  /** Ends what runs in the background. Nothing of it outlives the engine. */
  close(): Promise<void>;
}

export function makeTools(): ToolSet {
  return { tools: [anyTool(read), anyTool(write), anyTool(edit)], close: async () => {} };
}
