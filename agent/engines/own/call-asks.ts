/** Makes the asks of a call that waits for people: whether it may run, or the questions that it puts to them. */

import type { EventBody } from "../../../shared/agent/events.ts";
import type { ToolKind } from "../../../shared/agent/values.ts";
import { cutInput } from "../../core/cut-input.ts";
import type { Call, History } from "./history.ts";
import { type Judgement, judge, optionsOf } from "./permissions.ts";
import type { Request } from "./protocol.ts";
import type { Requests } from "./requests.ts";
import type { ToolCall } from "./tools/tool.ts";
import type { Where } from "./tools/where.ts";

export interface CallAsksOptions {
  history: History;
  requests: Requests;
  where: Where;
  /** The mode that holds now. */
  modeId: () => string;
  hasGates?: boolean;
  tellsCalls?: boolean;
}

export class CallAsks {
  readonly #options: CallAsksOptions;

  constructor(options: CallAsksOptions) {
    this.#options = options;
  }

  /** @returns undefined if the call asks nothing */
  find(
    toolCallId: string,
    { name, title, kind, input }: Pick<Call, "name" | "title" | "kind" | "input">,
    toolCall: ToolCall,
  ): { event: EventBody; request: Request } | undefined {
    const judged = this.judge(name, toolCall);
    const { questions } = toolCall;
    if (!questions && judged.is !== "ask") return undefined;
    const requestId = this.#options.requests.newId();
    const base = {
      requestId,
      toolCallId,
      callKey: toolCallId,
      input: cutInput(input),
    };
    const rule = judged.is === "ask" ? judged.rule : undefined;
    const event: EventBody = questions
      ? { type: "elicitation_request", ...base, message: messageOf(questions), questions: [...questions] }
      : { type: "permission_request", ...base, toolName: name, options: optionsOf(rule), title };
    return { event, request: this.request(requestId, toolCallId, { name, input, kind }, toolCall) };
  }

  /** The request of an ask that has its event. */
  request(
    requestId: string,
    toolCallId: string,
    { name, input, kind }: { name: string; input: unknown; kind: ToolKind },
    toolCall: ToolCall,
  ): Request {
    const { where, hasGates, tellsCalls } = this.#options;
    const paths = toolCall.writes(where);
    const [path] = paths;
    const call = { side: "ask" as const, kind, ...(path !== undefined && { path }) };
    const what = { name, input, paths };
    return { requestId, kind: "ask", toolCallId, call, ...((hasGates || tellsCalls) && { what }) };
  }

  judge(name: string, call: ToolCall): Judgement {
    const { history, where, modeId } = this.#options;
    const { subject } = call;
    return judge({ name, subject, asksAs: call.asksAs(where) }, modeId(), history.rules);
  }
}

function messageOf(questions: NonNullable<ToolCall["questions"]>): string {
  return questions.map(({ question }) => question).join("\n");
}
