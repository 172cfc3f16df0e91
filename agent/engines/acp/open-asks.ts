/** The agent's permission requests that wait for an answer. */
import { randomUUID } from "node:crypto";
import type { KnownAgent } from "./known.ts";
import { permissionSchema } from "./messages.ts";
import { type AskOptions, letsOwnTool, optionsOf } from "./permissions.ts";
import type { FromAdapter } from "./protocol.ts";
import type { Updates } from "./updates.ts";

interface OpenAsk extends AskOptions {
  /** The agent's id of its request. */
  rpcId: string;
  resolve: (outcome: object) => void;
}

export interface OpenAsksOptions {
  allowedTools: readonly string[];
  updates: Updates;
  say: (line: FromAdapter) => void;
  /** Each once. */
  notice: (title: string, description?: string) => void;
}

/** Nobody decides on more. */
const MAX_ASKS = 100;
const NOBODY = { outcome: { outcome: "cancelled" } };

export class OpenAsks {
  readonly #options: OpenAsksOptions;
  readonly #open = new Map<string, OpenAsk>();

  constructor(options: OpenAsksOptions) {
    this.#options = options;
  }

  /** @returns the answer, once there is one */
  async ask(params: unknown, rpcId: string, known: KnownAgent | undefined): Promise<object> {
    const { say, notice, updates, allowedTools } = this.#options;
    const { data: parsed } = permissionSchema.safeParse(params);
    if (!parsed) throw new Error("this request for a permission can't be read");
    const own = letsOwnTool(parsed, allowedTools, known);
    if (own !== undefined) return { outcome: { outcome: "selected", optionId: own } };
    const { lines, call } = updates.asked(parsed.toolCall);
    for (const line of lines) say(line);
    const options = optionsOf(parsed);
    if (!options) {
      notice(
        "The agent asked without saying what can be answered: it was told that nobody answers",
        call.title,
      );
      return NOBODY;
    }
    if (this.#open.size >= MAX_ASKS) {
      notice(`${MAX_ASKS} questions wait for a person already: the agent was told that nobody answers`);
      return NOBODY;
    }
    const requestId = randomUUID();
    const { id: callId, name, title, kind, input, locations } = call;
    const path = parsed.toolCall.locations[0]?.path ?? locations?.[0]?.path;
    const what = { callId, name, title, kind, input, ...(path !== undefined && { path }) };
    return await new Promise((resolve) => {
      this.#open.set(requestId, { ...options, rpcId, resolve });
      say({ type: "ask", requestId, ...what, options: options.shown });
    });
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** An answer to an ask that is over does nothing. @param optionId ours; null: nobody answers */
  answer(requestId: string, optionId: string | null): void {
    const ask = this.#open.get(requestId);
    if (!ask) return;
    this.#open.delete(requestId);
    this.#options.say({ type: "answered", requestId, optionId });
    const chosen = optionId === null ? null : (ask.ids.get(optionId) ?? null);
    ask.resolve(chosen === null ? NOBODY : { outcome: { outcome: "selected", optionId: chosen } });
  }

  /** @param rpcId the agent's id of the one that it takes back; undefined: all */
  withdraw(rpcId?: string): void {
    for (const [requestId, ask] of this.#open) {
      if (rpcId !== undefined && ask.rpcId !== rpcId) continue;
      this.#open.delete(requestId);
      this.#options.say({ type: "withdrawn", requestId });
      ask.resolve(NOBODY);
    }
  }
}
