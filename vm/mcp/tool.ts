/** A tool that the sidecar offers to engines over the Model Context Protocol. */
import type * as z from "zod";
import type { OurTool } from "../../shared/agent/tools-of-ours.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Right } from "../../shared/rights.ts";

export interface ToolCall {
  /** Whose token the caller has. */
  threadId: ThreadId;
  /** The engine's id of the call: the same a second time does nothing more. Undefined if it tells none. */
  callId: string | undefined;
  input: unknown;
  /** Fires when nobody waits for the answer any more. */
  signal: AbortSignal;
}

/** What the model is told, with a picture. */
export interface ToolAnswer {
  text: string;
  /** A PNG. */
  picture: Buffer;
}

export interface Tool {
  /** With it is declared as what people are asked about it. */
  name: OurTool;
  /** For the model. */
  description: string;
  inputSchema: z.ZodType;
  /** Whether a thread is offered it; not set: each is. */
  isFor?: (threadId: ThreadId) => boolean;
  /** The right that those need for whom the agent works; `none`: the tool itself judges. */
  right: Right | "none";
  /** @returns what the model is told. @throws AppError whose sentence the model is told as an error */
  run(call: ToolCall): Promise<string | ToolAnswer>;
}
