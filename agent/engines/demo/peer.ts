/** What the stand-in asks of the program that holds it, and waits for: permission to call a tool, and hooks. */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { Output } from "./output.ts";

const Update = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("addRules"),
    rules: z.array(z.object({ toolName: z.string(), ruleContent: z.string().optional() })),
    behavior: z.enum(["allow", "deny", "ask"]),
  }),
  z.looseObject({ type: z.literal("setMode"), mode: z.string() }),
  z.looseObject({ type: z.literal("addDirectories"), directories: z.array(z.string()) }),
]);

export const Decision = z.discriminatedUnion("behavior", [
  z.looseObject({
    behavior: z.literal("allow"),
    updatedInput: z.record(z.string(), z.unknown()).optional(),
    updatedPermissions: z.array(Update).optional(),
  }),
  z.looseObject({ behavior: z.literal("deny"), message: z.string(), interrupt: z.boolean().optional() }),
]);
export type Decision = z.infer<typeof Decision>;

const HookReply = z.looseObject({
  decision: z.string().optional(),
  reason: z.string().optional(),
  hookSpecificOutput: z
    .looseObject({
      permissionDecision: z.string().optional(),
      permissionDecisionReason: z.string().optional(),
      additionalContext: z.string().optional(),
    })
    .optional(),
});
type HookReply = z.infer<typeof HookReply>;

export const Hooks = z.record(
  z.string(),
  z.array(
    z.looseObject({
      matcher: z.string().optional(),
      hookCallbackIds: z.array(z.string()),
      timeout: z.number().positive().optional(),
    }),
  ),
);
export type Hooks = z.infer<typeof Hooks>;

interface Waiting {
  request: Record<string, unknown>;
  resolve: (response: unknown) => void;
  reject: (error: unknown) => void;
}

export class Peer {
  readonly #output: Output;
  readonly #waiting = new Map<string, Waiting>();
  hooks: Hooks = {};

  constructor(output: Output) {
    this.#output = output;
  }

  /** @throws the signal's reason if the turn is interrupted meanwhile. */
  async decide(request: Record<string, unknown>, signal: AbortSignal): Promise<Decision> {
    return Decision.parse(await this.#ask({ subtype: "can_use_tool", ...request }, signal));
  }

  /** Asks every hook of this event whose matcher fits, one after the other; undefined stands for "go on". */
  async hook(
    event: string,
    input: Record<string, unknown>,
    toolUseId: string,
    signal: AbortSignal,
  ): Promise<NonNullable<HookReply["hookSpecificOutput"]>[]> {
    const replies = await this.#replies(event, input, toolUseId, signal);
    return replies.flatMap(({ hookSpecificOutput }) => (hookSpecificOutput ? [hookSpecificOutput] : []));
  }

  /** Asks the hooks before a turn's end. @returns why the model is to go on; undefined if it is not */
  async stopHook(input: Record<string, unknown>, signal: AbortSignal): Promise<string | undefined> {
    const replies = await this.#replies("Stop", input, "", signal);
    return replies.find(({ decision }) => decision === "block")?.reason;
  }

  async #replies(
    event: string,
    input: Record<string, unknown>,
    toolUseId: string,
    signal: AbortSignal,
  ): Promise<HookReply[]> {
    const replies: HookReply[] = [];
    for (const { matcher, hookCallbackIds, timeout = 600 } of this.hooks[event] ?? []) {
      const matched = String(input["tool_name"] ?? input["source"]);
      if (matcher && !new RegExp(`^(?:${matcher})$`).test(matched)) continue;
      for (const callback_id of hookCallbackIds) {
        const request = {
          subtype: "hook_callback",
          callback_id,
          input: { ...input, hook_event_name: event },
          ...(toolUseId !== "" && { tool_use_id: toolUseId }),
        };
        const reply = await this.#ask(request, signal, timeout * 1_000);
        // The one before a turn's end fails open.
        const unanswered = event === "Stop" ? {} : UNANSWERED;
        replies.push(reply === TIMED_OUT ? unanswered : HookReply.parse(reply ?? {}));
      }
    }
    return replies;
  }

  /** False for an answer that nobody waits for, such as the second to one question: it is to be ignored. */
  isWaiting(requestId: string): boolean {
    return this.#waiting.has(requestId);
  }

  /** The questions to the person that have no answer, as they were printed. */
  openAsks(): Record<string, unknown>[] {
    return [...this.#waiting]
      .filter(([, { request }]) => request["subtype"] === "can_use_tool")
      .map(([request_id, { request }]) => ({ type: "control_request", request_id, request }));
  }

  answer(requestId: string, response: unknown): void {
    this.#waiting.get(requestId)?.resolve(response);
    this.#waiting.delete(requestId);
  }

  async #ask(request: Record<string, unknown>, signal: AbortSignal, timeoutMs?: number): Promise<unknown> {
    signal.throwIfAborted();
    const request_id = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    const cancel = () => {
      this.#output.line({ type: "control_cancel_request", request_id });
      this.#waiting.get(request_id)?.reject(signal.reason);
    };
    signal.addEventListener("abort", cancel);
    try {
      return await new Promise<unknown>((resolve, reject) => {
        this.#waiting.set(request_id, { request, resolve, reject });
        if (timeoutMs !== undefined)
          timer = setTimeout(() => resolve(TIMED_OUT), Math.min(timeoutMs, MAX_TIMER_MS));
        this.#output.line({ type: "control_request", request_id, request });
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      this.#waiting.delete(request_id);
    }
  }
}

/** setTimeout's own limit. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const TIMED_OUT = Symbol("timed out");
/** A hook that does not answer in time fails closed. */
const UNANSWERED = {
  hookSpecificOutput: {
    permissionDecision: "deny",
    permissionDecisionReason:
      "PreToolUse hook did not respond before its timeout (host client may be unreachable). The tool call was not executed",
  },
};
