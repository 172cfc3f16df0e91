/** One turn: answers and calls until an answer calls nothing more, an error, or an interrupt. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { appears, printAnswer, tokensOf } from "./answer.ts";
import { Calls, type Context, type Denial, Stopped } from "./calls.ts";
import type { Usage } from "./output.ts";
import { describeRefusal, type Refusal, type RoundError } from "./refusal.ts";
import type { Round } from "./script.ts";
import type { Block } from "./session-file.ts";

export interface Message {
  uuid: string;
  content: Block[];
}

export type Cause =
  | { kind: "message"; uuids: string[]; echo: Message }
  /** A turn that a kill cut off goes on; `uuid` is the line that says so, `of` the message that began it. */
  | { kind: "resume"; uuid: string; of: string; echo?: Block[] }
  | { kind: "task"; runId: string };

export interface TurnOptions {
  context: Context;
  cause: Cause;
  signal: AbortSignal;
  /** Takes what was sent in mid-turn. */
  takeQueued: () => Message[];
  /** What the model says to this conversation. */
  answer: (conversation: ReturnType<Context["session"]["conversation"]>) => Round;
  /** Told what each answer has used. */
  onUsage: (usage: Usage) => void;
}

export interface TurnEnd {
  fields: Record<string, unknown>;
  usage: Usage;
  /** Messages that were taken in mid-turn. */
  absorbed: string[];
}

const MAX_RETRIES = 10;
const MAX_HOLDS = 8;
const isRetried = (status: number) => status === 429 || status >= 500;

export class Turn {
  readonly #options: TurnOptions;
  readonly #startedAt = performance.now();
  readonly #begun: string[] = [];
  readonly #denials: Denial[] = [];
  readonly #absorbed: string[] = [];
  readonly #usage: Usage = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  };
  #rounds = 0;
  #isEchoed = false;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  async run(): Promise<TurnEnd> {
    const { settings, cwd, output: printer } = this.#options.context;
    printer.init({ cwd, model: settings.model, permissionMode: settings.mode }, this.#uuids);
    let isInTools = false;
    let holds = 0;
    try {
      for (;;) {
        isInTools = false;
        const { text, output, calls, refusal } = await this.#answer();
        if (refusal) return this.#failed(refusal);
        isInTools = true;
        if (calls.count === 0) {
          isInTools = false;
          if (await this.#mayEnd(text, holds++)) return this.#completed(text, output);
          continue;
        }
        try {
          for (const context of await calls.finish()) this.#options.context.session.addContext(context);
        } catch (reason) {
          calls.abort();
          throw reason;
        } finally {
          this.#denials.push(...calls.denials);
        }
        this.#absorb();
      }
    } catch (reason) {
      if (!(reason instanceof Stopped) && !this.#options.signal.aborted) throw reason;
      return this.#interrupted(isInTools);
    }
  }

  /** A hook may keep the model at work, and is heard so often. @param holds how often it has in this turn */
  async #mayEnd(text: string, holds: number): Promise<boolean> {
    const { context, signal } = this.#options;
    if (holds >= MAX_HOLDS) return true;
    const { session, settings, cwd, output } = context;
    const why = await context.peer.stopHook(
      {
        ...{ transcript_path: session.path, cwd, permission_mode: settings.mode },
        ...{ stop_hook_active: holds > 0, last_assistant_message: text },
        ...{ background_tasks: [], session_crons: [] },
      },
      signal,
    );
    if (why === undefined) return true;
    const content = [{ type: "text", text: `Stop hook feedback:\n${why}` }];
    const uuid = randomUUID();
    output.user(content, uuid, { isSynthetic: true });
    session.add({ type: "user", message: { role: "user", content }, uuid, isMeta: true });
    return false;
  }

  get #uuids(): string[] {
    const { cause } = this.#options;
    const first = cause.kind === "message" ? cause.uuids : cause.kind === "resume" ? [cause.of] : [];
    return [...first, ...this.#absorbed];
  }

  /** What ties a line to the messages that began the turn. */
  #origin(): Record<string, unknown> {
    const [first] = this.#uuids;
    return {
      ...(first === undefined ? {} : { user_message_uuid: first, user_message_uuids: this.#uuids }),
      ...(this.#options.cause.kind === "resume" ? { resume_reason: "interrupted_turn" } : {}),
    };
  }

  async #answer(): Promise<{ text: string; output?: unknown; calls: Calls; refusal?: Refusal }> {
    const { context, signal } = this.#options;
    const { output, session, settings } = context;
    const uuids = this.#uuids;
    output.system("status", {
      status: "requesting",
      ...(uuids.length > 0 ? { user_message_uuids: uuids } : {}),
    });
    const conversation = session.conversation();
    const round = this.#options.answer(conversation);
    const calls = new Calls(context, signal);
    if (round.waitFor) await appears(round.waitFor, signal);
    if (round.delayMs) await sleep(round.delayMs, undefined, { signal });
    const isRefused = round.error !== undefined && (await this.#isRefusedForGood(round.error));
    const refusal = isRefused && round.error ? describeRefusal(round.error, Date.now()) : undefined;
    if (refusal?.rateLimit) output.event({ type: "rate_limit_event", rate_limit_info: refusal.rateLimit });
    this.#echo();
    if (refusal) {
      this.#printError(refusal);
      return { text: refusal.text, calls, refusal };
    }
    const messageId = `msg_${randomUUID()}`;
    this.#begun.push(messageId);
    let text = "";
    const usage = await printAnswer(
      output,
      round,
      {
        messageId,
        model: settings.model,
        inputTokens: tokensOf(JSON.stringify(conversation)),
        first: this.#rounds++ === 0 ? this.#origin() : {},
        onBlock: (block, uuid, message) => {
          if (block.type === "text") text = block.text ?? "";
          session.add({ type: "assistant", message: { ...message, content: [block] }, uuid });
          if (block.type === "tool_use") calls.add(block);
        },
      },
      signal,
    );
    this.#options.onUsage(usage);
    this.#usage.input_tokens += usage.input_tokens;
    this.#usage.output_tokens += usage.output_tokens;
    return { text, output: round.output, calls };
  }

  /** The program says that it has taken the messages when the model begins to answer. */
  #echo(): void {
    const { cause, context } = this.#options;
    if (this.#isEchoed) return;
    this.#isEchoed = true;
    if (cause.kind === "message")
      context.output.user(cause.echo.content, cause.echo.uuid, { isReplay: true });
    if (cause.kind === "resume" && cause.echo) {
      context.output.user(cause.echo, cause.of, { isReplay: true });
    }
  }

  /** Tries again as often as the script refuses, or as the engine would. */
  async #isRefusedForGood({ status, times, limit }: RoundError): Promise<boolean> {
    if (limit) return true;
    for (let attempt = 1; attempt <= (times ?? Number.POSITIVE_INFINITY); attempt++) {
      if (!isRetried(status) || attempt > MAX_RETRIES) return true;
      const retry_delay_ms = Math.min(500 * 2 ** (attempt - 1), 4_000);
      this.#options.context.output.system("api_retry", {
        attempt,
        max_retries: MAX_RETRIES,
        retry_delay_ms,
        error_status: status,
        error: status === 529 ? "overloaded" : "rate_limit",
      });
      await sleep(retry_delay_ms, undefined, { signal: this.#options.signal });
    }
    return false;
  }

  #printError({ text, fields, rateLimit }: Refusal): void {
    const { output, session } = this.#options.context;
    const body = {
      diagnostics: null,
      id: randomUUID(),
      container: null,
      model: "<synthetic>",
      role: "assistant",
      stop_details: null,
      stop_reason: "stop_sequence",
      stop_sequence: "",
      type: "message",
      usage: { ...this.#usage },
      content: [{ type: "text", text }],
    };
    const uuid = output.assistant(body, {
      error: rateLimit ? "rate_limit" : "unknown",
      is_api_error_message: true,
      ...fields,
      ...(rateLimit && { api_error_params: { rate_limit_info: rateLimit } }),
      ...this.#origin(),
    });
    session.add({ type: "assistant", message: body, uuid, isApiErrorMessage: true });
  }

  #absorb(): void {
    const { output, session } = this.#options.context;
    for (const { uuid, content } of this.#options.takeQueued()) {
      session.addQueued(content, uuid);
      output.user(content, uuid, { isReplay: true });
      output.lifecycle(uuid, "started");
      this.#absorbed.push(uuid);
    }
  }

  #completed(text: string, structured_output: unknown): TurnEnd {
    return this.#end({
      subtype: "success",
      is_error: false,
      stop_reason: "end_turn",
      terminal_reason: "completed",
      api_error_status: null,
      result: text,
      ...(structured_output !== undefined && { structured_output }),
      ttft_ms: 1,
    });
  }

  #failed({ text, fields }: Refusal): TurnEnd {
    return this.#end({
      subtype: "success",
      is_error: true,
      stop_reason: "stop_sequence",
      terminal_reason: "api_error",
      ...fields,
      result: text,
    });
  }

  #interrupted(isInTools: boolean): TurnEnd {
    const { output, session } = this.#options.context;
    this.#echo();
    const content = [
      { type: "text", text: `[Request interrupted by user${isInTools ? " for tool use" : ""}]` },
    ];
    const uuid = randomUUID();
    output.user(content, uuid);
    session.add({ type: "user", message: { role: "user", content }, uuid });
    const stop_reason = isInTools ? "tool_use" : null;
    return this.#end({
      subtype: "error_during_execution",
      is_error: true,
      stop_reason,
      terminal_reason: isInTools ? "aborted_tools" : "aborted_streaming",
      errors: [`[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=${stop_reason}`],
    });
  }

  #end(fields: Record<string, unknown>): TurnEnd {
    const { cause } = this.#options;
    const origin = { kind: "task-notification", producer: "session-task" };
    return {
      usage: this.#usage,
      absorbed: this.#absorbed,
      fields: {
        ...fields,
        ...this.#origin(),
        ...(cause.kind === "task" ? { origin: { ...origin, runId: cause.runId } } : {}),
        num_turns: Math.max(1, this.#rounds),
        duration_ms: Math.round(performance.now() - this.#startedAt),
        duration_api_ms: 0,
        begun_message_ids: this.#begun,
        permission_denials: this.#denials,
      },
    };
  }
}
