/** A tool of the engine `own`: what the model is told of it, what a call of it asks people, and how a call is run. */
import * as z from "zod";
import type { Question, ToolKind } from "../../../../shared/agent/values.ts";
import type { Env } from "../../../engine.ts";
import { ToolError } from "./tool-error.ts";
import type { Where } from "./where.ts";

/**
 * How a call asks a person: `nothing` in no mode, `write` and `bash` as the mode has it for files and for commands,
 * `tool` unless a rule of the thread names the tool, and `always` in every mode but the one that asks for nothing.
 */
export type AsksAs = "nothing" | "write" | "bash" | "tool" | "always";

export interface Tool<I> {
  readonly name: string;
  readonly kind: ToolKind;
  /** For the model. */
  readonly description: string;
  readonly input: z.ZodType<I>;
  /** A call changes nothing: after a death in the midst of it, it is simply run again. */
  readonly isRepeatable: boolean;
  asksAs(input: I, where: Where): AsksAs;
  /** The subject of the call: the title has it after the tool's name, and rules are about it. */
  subject(input: I): string;
  /** A call of this tool is not run: people are asked these, in every mode, and their answers are its result. */
  questions?(input: I): readonly Question[];
  /** The files that the call writes, as real paths, so that they can be locked before it runs. @throws ToolError */
  writes?(input: I, where: Where): string[];
  /** @throws ToolError for what the model has to know */
  run(input: I, context: ToolContext): Promise<ToolResult>;
}

export interface ToolContext extends Where {
  /** Ours. It is part of the name of files that are not whole yet. */
  readonly callId: string;
  /** A person's interrupt. What the call has started is gone within 100 ms of it. */
  readonly signal: AbortSignal;
  /** The environment of commands. */
  readonly env: Env;
  /**
   * A command as it is to be started. The whole engine runs in the thread's sandbox, and so does what it starts: there
   * it is the command itself.
   */
  inSandbox(program: string, args: readonly string[]): { program: string; args: readonly string[] };
  /** Awaited when the new contents are known and nothing is written yet: after a death it says what had happened. */
  beforeWrite(files: readonly FileChange[]): Promise<void>;
  /** Output of a command that runs, as it comes: at most five times a second, and a few KB each time. */
  onOutput?(text: string): void;
}

/** A file's contents before and after, as SHA-256 in hex; null if there is no file. */
export interface FileChange {
  /** A real path. */
  file: string;
  old: string | null;
  new: string | null;
}

export interface ToolResult {
  /** For the model. */
  text: string;
  images?: { mediaType: string; data: Buffer }[];
  /** The changes of files, for people. */
  diffs?: { path: string; oldText: string | null; newText: string }[];
  isError?: boolean;
}

/** A tool whose input is not checked yet. */
export interface AnyTool extends Pick<Tool<never>, "name" | "kind" | "description" | "isRepeatable"> {
  /** A JSON Schema. */
  readonly schema: Record<string, unknown>;
  /** @returns the call, or a sentence for the model about what it gave */
  call(input: unknown): ToolCall | { problem: string };
}

export interface ToolCall {
  asksAs(where: Where): AsksAs;
  readonly subject: string;
  readonly questions?: readonly Question[];
  writes(where: Where): string[];
  /** Does not throw for what the model has to know: that is a result. */
  run(context: ToolContext): Promise<ToolResult>;
}

/** The tool for whoever has calls of many tools. */
export function anyTool<I>(tool: Tool<I>): AnyTool {
  const { name, kind, description, isRepeatable } = tool;
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: "input" });
  return {
    ...{ name, kind, description, isRepeatable, schema },
    call(input) {
      const parsed = tool.input.safeParse(input);
      return parsed.success ? callOf(tool, parsed.data) : { problem: problemOf(name, parsed.error) };
    },
  };
}

function callOf<I>(tool: Tool<I>, input: I): ToolCall {
  return {
    asksAs: (where) => tool.asksAs(input, where),
    subject: tool.subject(input),
    ...(tool.questions && { questions: tool.questions(input) }),
    writes: (where) => orNone(() => tool.writes?.(input, where) ?? []),
    async run(context) {
      try {
        return await tool.run(input, context);
      } catch (error) {
        if (error instanceof ToolError) return { text: error.message, isError: true };
        throw error;
      }
    },
  };
}

/** A call that names no file that it may write fails when it runs. */
function orNone(find: () => string[]): string[] {
  try {
    return find();
  } catch (error) {
    if (error instanceof ToolError) return [];
    throw error;
  }
}

function problemOf(name: string, { issues }: z.ZodError): string {
  const problems = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
  return `${name} was called wrongly. ${problems.join(". ")}.`;
}
