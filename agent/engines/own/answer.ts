/** One answer of the model, from the call to the line that tells it: with its notices, tries and costs. */
import type { LanguageModel } from "ai";
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Params } from "../../../shared/agent/params.ts";
import type { Usage } from "../../../shared/agent/values.ts";
import type { Env } from "../../engine.ts";
import {
  callModel,
  type ProviderOptions,
  type Reply,
  type ReplyPiece,
  Stopped,
  type ToolSpec,
} from "./call-model.ts";
import type { Calls } from "./calls.ts";
import { type Fault, faultOf, MAX_TRIES, waitMs } from "./faults.ts";
import type { History, PieceMeta } from "./history.ts";
import { charactersOf, LocalServer, type Sent } from "./local-server.ts";
import { toMessages } from "./messages.ts";
import type { Output } from "./output.ts";
import { type Price, priceOf } from "./price.ts";
import { type Chosen, openModel, placeOf } from "./providers.ts";

export interface AnswerOptions {
  history: History;
  output: Output;
  calls: Calls;
  env: Env;
  system: string;
  tools: { readonly all: readonly ToolSpec[] };
  params: Params;
  readImage: (uri: string) => Buffer | undefined;
  /** Begins each id that the process makes. */
  prefix: string;
}

export interface Asked {
  kind: "chat" | "compact";
  title: string;
  /** Told to the model before it answers. */
  news?: string | undefined;
  /** Says what a summary is to keep above all. */
  hint?: string | undefined;
  signal: AbortSignal;
}

export type Answered =
  | { is: "answer"; text: string; usage: Usage | undefined; finish: string; price: Price }
  | { is: "stopped" }
  | { is: "failed"; fault: Fault };

type Answer = Reply & Sent;

const MAX_OUTPUT_TOKENS = 32_000;
const LIVE_MS = 200;
const LIVE_CHARACTERS = 1_000;

export class Answers {
  readonly #options: AnswerOptions;
  readonly #local = new LocalServer();
  #count = 0;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /** Calls the model; the answer is in the history when this resolves. @param spent tells what the turn has cost */
  async next(
    chosen: Chosen,
    asked: Asked,
    spent: (price: Price, usage: Usage) => EventBody[],
  ): Promise<Answered> {
    const { output } = this.#options;
    const { kind, title, news } = asked;
    const prefix = kind === "compact" ? "compact-" : "";
    const stepId = `${prefix}${this.#options.prefix}-${output.byte}-${++this.#count}`;
    const said = news === undefined ? {} : { meta: { said: [{ type: "text", text: news }] } };
    output.say({ events: [{ type: "step_start", stepId, kind, title, ...said }] });
    const startedMs = performance.now();
    const end = (status: "completed" | "failed" | "cancelled", more: object = {}): EventBody => {
      const durationMs = Math.round(performance.now() - startedMs);
      return { type: "step_end", stepId, status, durationMs, model: chosen.model, ...more };
    };
    const outcome = await this.#tryAll(chosen, stepId, asked);
    if (outcome instanceof Stopped) {
      // Its calls were not run, and thoughts without their end are none that the provider takes back.
      const texts = kind === "chat" ? outcome.pieces.filter(({ type }) => type === "text") : [];
      output.say({ events: [...this.#tell(texts, stepId, chosen).events, end("cancelled")] });
      return { is: "stopped" };
    }
    if ("sentence" in outcome) {
      output.say({ events: [end("failed")] });
      return { is: "failed", fault: outcome };
    }
    const { usage, ttftMs, finish, pieces } = outcome;
    const strange = kind === "chat" ? this.#lookAt(chosen, outcome) : [];
    const price = await priceOf(chosen, usage ?? { inputTokens: 0, outputTokens: 0 });
    const told =
      kind === "chat" ? this.#tell(pieces, stepId, chosen) : { events: [], after: [], requests: [] };
    const used = usage ? contextTokens(usage) : 0;
    output.say({
      events: [
        ...told.events,
        end("completed", { ...(usage && { usage }), ...(ttftMs !== undefined && { ttftMs }) }),
        ...told.after,
        ...(usage ? spent(price, usage) : []),
        ...strange,
        ...(used > 0 && kind === "chat"
          ? [{ type: "usage_update" as const, used, size: price.contextTokens }]
          : []),
      ],
      ...(told.requests.length > 0 && { requests: told.requests }),
    });
    const text = pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])).join("");
    return { is: "answer", text, usage, finish, price };
  }

  /** Each thing is said once in a thread. */
  #lookAt({ provider, by }: Chosen, reply: Answer): EventBody[] {
    if (!provider.isLocal) return [];
    const { history, tools } = this.#options;
    return this.#local.look(by, reply, reply, tools.all).filter(({ title }) => !history.notices.has(title));
  }

  async #tryAll(chosen: Chosen, stepId: string, asked: Asked): Promise<Answer | Fault | Stopped> {
    const { output, env } = this.#options;
    const place = placeOf(chosen, env);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#call(await openModel(chosen, env), chosen, stepId, asked);
      } catch (error) {
        if (error instanceof Stopped) return error;
        const fault = faultOf(error, { model: chosen.model, key: chosen.provider.key, place }, Date.now());
        if (!fault.mayTryAgain || attempt >= MAX_TRIES) return fault;
        const ms = waitMs(attempt, fault.afterMs, Math.random());
        const seconds = (ms / 1_000).toFixed(ms < 10_000 ? 1 : 0);
        output.say({
          events: [
            {
              type: "notice",
              severity: "warning",
              title: `${ended(fault.sentence)} Trying again in ${seconds} s.`,
            },
          ],
          live: { retry: { attempt, error: fault.sentence } },
        });
        if (!(await rest(ms, asked.signal))) return new Stopped([]);
      }
    }
  }

  async #call(
    model: LanguageModel,
    chosen: Chosen,
    messageId: string,
    { kind, hint, signal }: Asked,
  ): Promise<Answer> {
    const { history, output, system, params, readImage } = this.#options;
    const tools = this.#options.tools.all;
    const { isLocal, messages: mapping, options } = chosen.provider;
    const summarise = hint ? `${SUMMARISE} Keep above all: ${hint}` : SUMMARISE;
    const last = kind === "compact" ? summarise : undefined;
    const messages = toMessages(history, { by: chosen.by, mapping, readImage }, last);
    let toldMs = 0;
    const reply = await callModel({
      model,
      mapping,
      system,
      messages,
      tools,
      mayCall: kind === "chat",
      maxOutputTokens: params.maxOutputTokens ?? MAX_OUTPUT_TOKENS,
      temperature: params.temperature,
      providerOptions: options[params.thinking ?? "none"] as ProviderOptions,
      timeoutMs: params.callSeconds === undefined ? undefined : params.callSeconds * 1_000,
      signal,
      onText: (text, thought) => {
        if (kind !== "chat" || performance.now() - toldMs < LIVE_MS) return;
        toldMs = performance.now();
        output.say({ live: { text: { messageId, text: text.slice(-LIVE_CHARACTERS), thought } } });
      },
    });
    return { ...reply, characters: isLocal ? charactersOf(system, messages, tools) : 0 };
  }

  /** Ids are ours: some servers give none, or the same one twice, and ours outlive a change of the provider. */
  #tell(pieces: readonly ReplyPiece[], stepId: string, { by }: Chosen) {
    const events: EventBody[] = [];
    const after: EventBody[] = [];
    const requests: ReturnType<Calls["begin"]>["requests"] = [];
    for (const [at, piece] of pieces.entries()) {
      const { options } = piece;
      const meta: PieceMeta = {
        by,
        ...(options ? { options: options as NonNullable<PieceMeta["options"]> } : {}),
      };
      if (piece.type === "call") {
        const { name, input, problem } = piece;
        const begun = this.#options.calls.begin(`c${stepId}-${at}`, stepId, name, input, problem);
        events.push(options ? { ...begun.call, meta } : begun.call);
        after.push(...begun.after);
        requests.push(...begun.requests);
        continue;
      }
      const { text } = piece;
      if (text === "" && !options) continue;
      const type = piece.type === "text" ? "agent_message" : "agent_thought";
      events.push({ type, messageId: `m${stepId}-${at}`, at: stepId, text, meta });
    }
    return { events, after, requests };
  }
}

const SUMMARISE =
  "Summarise this conversation for yourself, so that you can go on without it: the task, what was decided, the files that were touched, what is open, and exact names and values. Answer with the summary alone.";

/** The provider's own words, which end the sentence, may have no full stop. */
function ended(sentence: string): string {
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** How a turn ends with an answer that the model was kept from ending. @param finish in the provider's words */
export function earlyEnd(finish: string): "max_tokens" | "refusal" | undefined {
  if (/^(length|max_tokens|max_output_tokens|MAX_TOKENS)$/.test(finish)) return "max_tokens";
  return /^(refusal|content[-_]filter|SAFETY)$/.test(finish) ? "refusal" : undefined;
}

export function contextTokens(usage: Usage): number {
  const { inputTokens, outputTokens, cachedReadTokens = 0, cachedWriteTokens = 0 } = usage;
  return inputTokens + outputTokens + cachedReadTokens + cachedWriteTokens;
}

/** @returns false if the person stops the turn meanwhile */
function rest(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isOver: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(isOver);
    };
    const stop = () => end(false);
    const timer = setTimeout(() => end(true), ms);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
}
