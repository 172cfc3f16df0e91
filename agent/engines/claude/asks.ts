/** claude's permission requests as asks, and answers to asks as claude's permission results. Pure. */

import * as z from "zod";
import { callKeyOf } from "../../../shared/agent/call-key.ts";
import type { EventBody, EventOf } from "../../../shared/agent/events.ts";
import type { RecordedAnswer, ThreadFold } from "../../../shared/agent/fold-types.ts";
import { questionSchema } from "../../../shared/agent/values.ts";
import { lazy } from "../../../shared/lazy.ts";
import type { Source } from "../../../shared/principal.ts";
import { cutInput } from "../../core/cut-input.ts";
import { findEarlierAsk } from "../../core/repeated-ask.ts";
import type { Refusal } from "../../engine.ts";
import { visible } from "../../trust/visible.ts";
import type { ClaudeRequest } from "./lines.ts";
import { asRecord, titleOf } from "./tools.ts";

type Options = EventOf<"permission_request">["options"];

const MAX_RULE = 200;
/** What claude says if it has no reason of its own to ask. */
const NO_REASON = "This command requires approval";
const questionsSchema = lazy(() =>
  z.object({
    questions: z.array(questionSchema.extend({ multiSelect: z.boolean().default(false) })).min(1),
  }),
);
const ruleSchema = z.object({ toolName: z.string(), ruleContent: z.string().optional() });
type Rule = z.infer<typeof ruleSchema>;
const rulesSchema = lazy(() =>
  z.object({
    type: z.literal("addRules"),
    behavior: z.literal("allow"),
    rules: z.array(ruleSchema).length(1),
  }),
);

/**
 * The events of a permission request. If a restart asks for a call again that a person has answered already, the
 * answer follows at once.
 */
export function askEvents(
  { request_id: requestId, request }: ClaudeRequest,
  fold: ThreadFold,
  generation: number,
  cwd: string,
  plan: string | undefined,
): EventBody[] {
  const toolName = request.tool_name ?? "";
  const { input, decision_reason: reason } = request;
  const callKey = callKeyOf(toolName, input);
  const old = findEarlierAsk(fold, callKey, generation);
  const base = {
    requestId,
    toolCallId: request.tool_use_id ?? "",
    callKey,
    input: cutInput(input),
    ...(old && { replaces: old.requestId }),
  };
  const ask = questionEvent(toolName, input, base) ?? {
    type: "permission_request" as const,
    ...base,
    toolName,
    title: titleOf(toolName, input, cwd),
    ...(request.description !== undefined && { description: request.description }),
    ...(reason !== undefined && reason !== NO_REASON && { reason }),
    ...(request.agent_id !== undefined && { agentId: request.agent_id }),
    ...(toolName === "ExitPlanMode"
      ? { options: PLAN_OPTIONS, plan: planOf(input) ?? plan ?? "" }
      : { options: optionsOf(request.permission_suggestions ?? []) }),
  };
  if (old?.response) return [ask, answerEvent(requestId, old.response)];
  // At a gate before this very call a person has said yes to it.
  const gate = ask.type === "permission_request" && ask.plan === undefined && yesAtGate(fold, base);
  if (gate) return [ask, answerEvent(requestId, { kind: "permission", optionId: "once", ...gate })];
  return [ask];
}

function yesAtGate(
  { gates }: ThreadFold,
  { callKey, toolCallId }: { callKey: string; toolCallId: string },
): { by?: Source } | undefined {
  const yes = gates?.entries.find(
    (entry) =>
      entry.by === "person" &&
      entry.outcome === "continue" &&
      entry.waits === toolCallId &&
      entry.callKey === callKey,
  );
  return yes && (yes.decidedBy ? { by: yes.decidedBy } : {});
}

const PLAN_OPTIONS: Options = [
  { optionId: "once", name: "Approve", kind: "allow_once" },
  { optionId: "edits", name: "Approve, and let it edit", kind: "allow_always" },
  { optionId: "no", name: "Keep planning", kind: "reject_once" },
];

/** One rule for the thread may be granted: never a change of mode, a directory or a setting. */
function optionsOf(suggestions: readonly unknown[]): Options {
  const rule = findRule(suggestions);
  const thread: Options = rule
    ? [{ optionId: "thread", name: ruleName(rule), kind: "allow_always", rule: ruleText(rule) }]
    : [];
  return [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    ...thread,
    { optionId: "no", name: "Deny", kind: "reject_once" },
  ];
}

/**
 * The first suggestion that is one rule, if that rule is safe to grant. The person must see all of it, so it is short
 * and has no hidden character. claude reads the rules of `--allowedTools` up to the next parenthesis: a rule whose
 * content has one could grant something else after a restart than what the button said.
 */
function findRule(suggestions: readonly unknown[]): Rule | undefined {
  const found = suggestions.map((one) => rulesSchema().safeParse(one)).find((parsed) => parsed.success);
  const rule = found?.data?.rules[0];
  if (!rule || !/^[\w-]{1,100}$/.test(rule.toolName)) return undefined;
  const { ruleContent } = rule;
  if (ruleContent === undefined) return rule;
  const isSafe =
    ruleContent.length <= MAX_RULE && !/[()]/.test(ruleContent) && visible(ruleContent) === ruleContent;
  return isSafe ? rule : undefined;
}

/** Names a command's rule by the prefix or the words that it grants, and another tool's as claude writes it. */
function ruleName(rule: Rule): string {
  const { toolName, ruleContent } = rule;
  const isCommand = toolName === "Bash" && ruleContent !== undefined;
  const what = isCommand ? ruleContent.replace(/:\*$/, " *") : ruleText(rule);
  return `Allow "${what}" in this thread`;
}

function ruleText({ toolName, ruleContent }: Rule): string {
  return ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`;
}

function questionEvent(toolName: string, input: unknown, base: QuestionBase): EventBody | undefined {
  if (toolName !== "AskUserQuestion") return undefined;
  const parsed = questionsSchema().safeParse(input);
  if (!parsed.success) return undefined; // asked as any other call
  const questions = parsed.data.questions.map((one) => ({ ...one, question: nameOfQuestion(one.question) }));
  const message = questions.map(({ question }) => question).join("\n");
  return { type: "elicitation_request", ...base, message, questions };
}

/** Answers are kept by question, in objects: a name that every object has would be none, or always answered. */
function nameOfQuestion(question: string): string {
  return question in {} ? JSON.stringify(question) : question;
}

/** The answers by the engine's own questions. */
function answersTo(input: object, content: Readonly<Record<string, string>>): Record<string, string> {
  const { questions = [] } = questionsSchema().safeParse(input).data ?? {};
  const own = new Map(questions.map(({ question }) => [nameOfQuestion(question), question]));
  return Object.fromEntries(Object.entries(content).map(([name, answer]) => [own.get(name) ?? name, answer]));
}

type QuestionBase = Pick<
  EventOf<"elicitation_request">,
  "requestId" | "toolCallId" | "callKey" | "input" | "replaces"
>;

function answerEvent(requestId: string, response: RecordedAnswer["response"]): EventBody {
  const by = response.by === undefined ? {} : { by: response.by };
  if (response.kind === "elicitation") {
    const { action, content } = response;
    return { type: "elicitation_response", requestId, action, ...by, ...(content && { content }) };
  }
  const { optionId, message } = response;
  const outcome = "selected" as const;
  return {
    type: "permission_response",
    requestId,
    outcome,
    optionId,
    ...by,
    ...(message !== undefined && { message }),
  };
}

/** What claude is told: a permission result for its `control_response`. */
export function permissionResult(answer: RecordedAnswer | Refusal, { request }: ClaudeRequest): object {
  if ("refusal" in answer) return { behavior: "deny", message: answer.refusal };
  const { response } = answer;
  const input = asRecord(request.input);
  if (response.kind === "elicitation") {
    if (response.action === "decline") {
      return { behavior: "deny", message: "The person declined to answer the questions." };
    }
    return {
      behavior: "allow",
      updatedInput: { ...input, answers: answersTo(input, response.content ?? {}) },
    };
  }
  switch (response.optionId) {
    case "once":
      return { behavior: "allow", updatedInput: input };
    case "edits":
      return { behavior: "allow", updatedInput: input, updatedPermissions: [SET_ACCEPT_EDITS] };
    case "thread":
      return { behavior: "allow", updatedInput: input, updatedPermissions: grantedRules(request) };
    default:
      return { behavior: "deny", message: response.message ?? "The person denied this call." };
  }
}

const SET_ACCEPT_EDITS = { type: "setMode", mode: "acceptEdits", destination: "session" };

/** For the session alone: nothing is written into the settings of the person or the repository. */
function grantedRules(request: ClaudeRequest["request"]): object[] {
  const rule = findRule(request.permission_suggestions ?? []);
  return rule ? [{ type: "addRules", behavior: "allow", rules: [rule], destination: "session" }] : [];
}

function planOf(input: unknown): string | undefined {
  const { plan } = asRecord(input);
  return typeof plan === "string" ? plan : undefined;
}
