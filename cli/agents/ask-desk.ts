/** Answers what an agent asks: by whoever sits at this terminal, or, if nobody does, by refusing it. */
import { createInterface, type Interface } from "node:readline/promises";
import type { AskReply } from "../../shared/agent/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import type { Context, Streams } from "../context.ts";
import { askLines, MAX_DETAIL_LINES } from "./ask-text.ts";
import { approval, type Decision, denial, reply } from "./choose-ask.ts";

const NOBODY = "Nobody is there to decide: this runs in a script.";

export class AskDesk {
  readonly #context: Context;
  readonly #client: SidecarClient;
  readonly #threadId: string;
  readonly #signal: AbortSignal;
  /** The question that stands in the terminal. */
  #open: { requestId: string; leave: AbortController } | undefined;
  #isTerminalClosed = false;
  #fault: { error: unknown } | undefined;

  /** @param signal fires when nobody answers any more, and nothing is to be refused either */
  constructor(context: Context, client: SidecarClient, threadId: string, signal: AbortSignal) {
    this.#context = context;
    this.#client = client;
    this.#threadId = threadId;
    this.#signal = signal;
    if (this.#hasPerson) context.streams.stdin.on("error", ifClosed);
    signal.addEventListener("abort", () => this.close(), { once: true });
  }

  /** @param asks all that are open now. @throws what went wrong with an earlier one */
  async see(asks: readonly AskReply[]): Promise<void> {
    if (this.#fault) throw this.#fault.error;
    if (this.#signal.aborted) return;
    if (!this.#hasPerson) {
      for (const ask of asks) await this.#answer(ask, refusalOf(ask));
      return;
    }
    if (this.#open && !asks.some(({ requestId }) => requestId === this.#open?.requestId)) this.close();
    const [next] = asks;
    if (!next || this.#open) return;
    const open = { requestId: next.requestId, leave: new AbortController() };
    this.#open = open;
    void this.#ask(next, open.leave.signal)
      .catch((error: unknown) => {
        this.#fault = { error };
      })
      .finally(() => {
        if (this.#open === open) this.#open = undefined;
      });
  }

  /** Takes back the question that stands in the terminal. */
  close(): void {
    this.#open?.leave.abort();
    this.#open = undefined;
  }

  get #hasPerson(): boolean {
    const { streams, err, isJson } = this.#context;
    // A terminal that was closed while a question stood in it can be read no more, and says nothing of it again.
    if (this.#isTerminalClosed || !streams.stdin.readable) return false;
    return streams.stdin.isTTY === true && err.isTty && !isJson;
  }

  async #ask(ask: AskReply, signal: AbortSignal): Promise<void> {
    const { err, streams } = this.#context;
    const options = { thread: this.#threadId, maxLines: MAX_DETAIL_LINES, isOneOfMany: false };
    const lines = askLines(ask, options).filter((line) => !line.startsWith("  → "));
    for (const line of ["", ...lines]) await err.line(line);
    const reader = openReader(streams);
    if (!reader) {
      this.#isTerminalClosed = true;
      if (!signal.aborted) await this.#tryAnswer(ask, refusalOf(ask));
      return;
    }
    // Ctrl-C is not this question's affair.
    reader.on("SIGINT", () => process.emit("SIGINT"));
    // After Ctrl-D, or from a terminal that is closed, no line comes, and the question would wait for ever.
    const closed = new AbortController();
    reader.once("close", () => closed.abort());
    reader.on("error", () => closed.abort());
    const either = AbortSignal.any([signal, closed.signal]);
    try {
      for (;;) {
        const decision = this.#read(ask, await reader.question(promptOf(ask), { signal: either }));
        const problem = typeof decision === "string" ? decision : await this.#tryAnswer(ask, decision);
        if (problem === undefined) return;
        await err.line(problem);
      }
    } catch (error) {
      if (!either.aborted) throw error;
      await err.line("");
      if (signal.aborted) await err.line("that is not asked any more");
      else await this.#tryAnswer(ask, refusalOf(ask));
    } finally {
      reader.close();
    }
  }

  /** @returns what is wrong with it as a sentence. */
  #read(ask: AskReply, typed: string): Decision | string {
    const words = typed.trim();
    try {
      if (ask.request.type === "elicitation_request") {
        const many = ask.request.questions.length > 1;
        return reply(ask, {
          words: many ? words.split(";").map((word) => word.trim()) : [words],
          isText: false,
        });
      }
      if (/^(y|yes)$/i.test(words)) return approval(ask, { always: false });
      if (/^(a|always)$/i.test(words)) return approval(ask, { always: true });
      if (/^(n|no)$/i.test(words)) return denial(ask, { because: undefined });
      return words === "" ? "y, a or n, or why not" : denial(ask, { because: words });
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  }

  /** @returns why the sidecar did not take it, as a sentence. */
  async #tryAnswer(ask: AskReply, decision: Decision): Promise<string | undefined> {
    try {
      await this.#answer(ask, decision);
      return undefined;
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  }

  async #answer(ask: AskReply, { answer, said }: Decision): Promise<void> {
    const { err, isJson } = this.#context;
    try {
      await this.#client.answerAsk(this.#threadId, ask.requestId, answer);
      if (!isJson) await err.line(`${cleanLine(ask.title)}: ${said}`);
    } catch (error) {
      const isOver =
        error instanceof AppError &&
        ["already_answered", "ask_ended", "thread_ended", "unavailable"].includes(error.code);
      if (!isOver) throw error; // if no sidecar answered, the ask is seen again
    }
  }
}

/** @returns undefined if the terminal is closed */
function openReader({ stdin, stderr }: Streams): Interface | undefined {
  try {
    return createInterface({ input: stdin, output: stderr }).on("error", ifClosed);
  } catch (error) {
    // It sets the terminal before anybody can listen to it, so what `ifClosed` would hear is thrown.
    if ((error as NodeJS.ErrnoException).syscall !== "setRawMode") throw error;
    stdin.removeAllListeners("error").on("error", ifClosed); // the half of it that is made would throw again
    return undefined;
  }
}

/** A terminal that is closed can't be read or set. That it is closed, a signal says too, or nobody is asked any more. */
function ifClosed(): void {}

function refusalOf(ask: AskReply): Decision {
  const isReasoned = ask.request.type === "permission_request" && !ask.request.limit && !ask.request.trust;
  return denial(ask, { because: isReasoned ? NOBODY : undefined });
}

function promptOf({ request }: AskReply): string {
  if (request.type === "elicitation_request") {
    return request.questions.length > 1 ? "answers, with ; between: " : "answer: ";
  }
  const kinds = new Set(request.options.map(({ kind }) => kind));
  const always = kinds.has("allow_always") && kinds.has("allow_once") ? ", a = always in this thread" : "";
  return `y = yes${always}, n = no, or why not: `;
}
