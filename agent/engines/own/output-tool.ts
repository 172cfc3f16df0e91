/** The tool by which the model gives the result of a thread that holds it to a JSON Schema. */
import type { History } from "./history.ts";
import type { AnyTool } from "./tools/tool.ts";

export const OUTPUT_TOOL = "output";
/** A schema of something else than an object stands in a field, because a tool's input is an object. */
const FIELD = "result";
const SHARED = ["$defs", "definitions", "$schema"] as const;

export const ASK_FOR_OUTPUT = `Give your result now by calling the tool ${OUTPUT_TOOL}; nothing else counts.`;

export interface OutputTool {
  tool: AnyTool;
  /** The result in the input of a call that was taken. */
  resultOf(input: unknown): unknown;
}

export async function outputTool(schema: Record<string, unknown>): Promise<OutputTool> {
  // Only such threads have use for what checks.
  const { compileSchema } = await import("../../../shared/agent/compile-schema.ts");
  const check = compileSchema(schema);
  const isObject = schema["type"] === "object";
  const resultOf = (input: unknown) => (isObject ? input : ((input ?? {}) as Record<string, unknown>)[FIELD]);
  return {
    resultOf,
    tool: {
      name: OUTPUT_TOOL,
      description: "Gives the result of your work, as it was asked for. Call it once, when all else is done.",
      schema: isObject ? withoutDraft(schema) : inField(schema),
      kind: "other",
      isRepeatable: true,
      call: (input) => ({
        asksAs: () => "nothing",
        subject: "",
        writes: () => [],
        run: async () => {
          const problem = check(resultOf(input));
          return problem === undefined
            ? { text: "It is taken." }
            : { text: `It does not fit the schema: ${problem}`, isError: true };
        },
      }),
    },
  };
}

/** The result that the model has given in its newest answer. */
export function findResult(
  { lastCalls }: Pick<History, "lastCalls">,
  output: OutputTool | undefined,
): { result: unknown } | undefined {
  const call = lastCalls.find(({ name, end }) => name === output?.tool.name && end?.status === "completed");
  return output && call && { result: output.resultOf(call.input) };
}

function withoutDraft({ $schema: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema;
}

/** References lead to the root: what they name stays there. */
function inField(schema: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(schema).filter(([name]) => !SHARED.some((one) => one === name));
  const shared = Object.entries(schema).filter(([name]) => name === "$defs" || name === "definitions");
  return {
    ...Object.fromEntries(shared),
    type: "object",
    properties: { [FIELD]: Object.fromEntries(own) },
    required: [FIELD],
  };
}
