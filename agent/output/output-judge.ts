/** Whether a turn's result is what the thread's `outputSchema` asks for: said with the turn's end. */
import { MAX_BLOB_BYTES } from "../../shared/agent/bound.ts";
import type { OutputCheck } from "../../shared/agent/compile-schema.ts";
import type { EventBody, EventOf } from "../../shared/agent/events.ts";
import { errorText } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";

export class OutputJudge {
  readonly #schema: Record<string, unknown> | undefined;
  #check: OutputCheck | undefined;

  constructor(schema: Record<string, unknown> | undefined) {
    this.#schema = schema;
  }

  /** The events that end a turn, with the verdict in it; as they are if the thread has no schema. */
  async judge(bodies: readonly EventBody[]): Promise<readonly EventBody[]> {
    const schema = this.#schema;
    if (!schema) return bodies;
    this.#check ??= await makeCheck(schema);
    const check = this.#check;
    return bodies.map((body) => (body.type === "turn_end" ? judgeEnd(body, check) : body));
  }
}

/** What checks is read only for such threads: a runner lives for a turn. */
async function makeCheck(schema: Record<string, unknown>): Promise<OutputCheck> {
  try {
    const { compileSchema } = await import("../../shared/agent/compile-schema.ts");
    return compileSchema(schema);
  } catch (error) {
    return () => `agent.outputSchema: ${errorText(error)}`;
  }
}

/** A turn that did not come to its end owes no result. What the agent gave instead stays as it is. Pure. */
export function judgeEnd(end: EventBody<"turn_end">, check: OutputCheck): EventBody<"turn_end"> {
  if (end.output === "invalid_output") return invalid(end, end.error ?? "the agent gave none that fits.");
  if (end.stopReason !== "end_turn") return end;
  if (end.result === undefined) return invalid(end, "the agent gave none.");
  const bytes = Buffer.byteLength(JSON.stringify(end.result));
  if (bytes > MAX_BLOB_BYTES)
    return invalid(end, `it has ${formatCount(bytes)} bytes, and ${formatCount(MAX_BLOB_BYTES)} are kept.`);
  const problem = check(end.result);
  return problem === undefined ? { ...end, output: "valid" } : invalid(end, problem);
}

function invalid(end: EventBody<"turn_end">, problem: string): EventBody<"turn_end"> {
  const output: EventOf<"turn_end">["output"] = "invalid_output";
  return { ...end, output, error: `No valid result (invalid_output): ${problem}` };
}
