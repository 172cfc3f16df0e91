/** One thread as an editor has it open: its events as they come, its prompts, its asks. */
import { randomUUID } from "node:crypto";
import type { PermissionOption, SessionUpdate, StopReason } from "@agentclientprotocol/sdk";
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import { findEvent } from "../../shared/agent/find-event.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { errorText } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { MAX_WAIT_MS } from "../../shared/wait.ts";
import { stopReasonOf, updatesOf } from "./editor-updates.ts";

const RETRY_MS = 1_000;
/** In the place of the id of a message that made its thread: the transcript tells that. */
const FIRST = "first";

export interface Editor {
  update(update: SessionUpdate): Promise<void>;
  /** @returns the option that was chosen; undefined if none was, or the question is withdrawn */
  ask(
    ask: { toolCallId: string; title: string; options: PermissionOption[] },
    signal: AbortSignal,
  ): Promise<string | undefined>;
}

interface Prompt {
  resolve: (reason: StopReason) => void;
  reject: (error: Error) => void;
}

export class ThreadTail {
  readonly #client: SidecarClient;
  readonly #threadId: string;
  readonly #editor: Editor;
  readonly #closed = new AbortController();
  /** By the message's id, until a delivery holds it; then by the delivery's. */
  readonly #prompts = new Map<string, Prompt>();
  readonly #own = new Set<string>();
  readonly #asks = new Map<string, AbortController>();
  #since = 0;
  #lastEnd: EventOf<"turn_end"> | undefined;

  constructor(client: SidecarClient, threadId: string, editor: Editor) {
    this.#client = client;
    this.#threadId = threadId;
    this.#editor = editor;
  }

  /** Tells what was said so far, then goes on by itself. @param isReplay false: the editor knows what was said */
  async open(isReplay: boolean): Promise<void> {
    const open = new Map<string, EventOf<"permission_request">>();
    for (let more = true; more; ) {
      const reply = await this.#client.readTranscript(this.#threadId, { since: this.#since });
      for (const event of eventsIn(reply.lines)) {
        if (isReplay) for (const update of updatesOf(event, false)) await this.#editor.update(update);
        if (event.type === "permission_request") open.set(event.requestId, event);
        if (event.type === "permission_response") open.delete(event.requestId);
        if (event.type === "turn_end") this.#lastEnd = event;
      }
      more = reply.more && reply.offset > this.#since;
      this.#since = reply.offset;
    }
    for (const ask of open.values()) void this.#ask(ask);
    void this.#follow();
  }

  /** @returns how the turn ended that the message was in */
  async prompt(text: string): Promise<StopReason> {
    const inputId = randomUUID();
    this.#own.add(inputId);
    const ended = new Promise<StopReason>((resolve, reject) =>
      this.#prompts.set(inputId, { resolve, reject }),
    );
    try {
      await this.#client.sendInput(this.#threadId, { text, inputId });
    } catch (error) {
      this.#prompts.delete(inputId);
      throw error;
    }
    return await ended;
  }

  /** Waits for the end of the first turn of a thread that was just made with its first message. */
  async first(): Promise<StopReason> {
    const ended = new Promise<StopReason>((resolve, reject) => this.#prompts.set(FIRST, { resolve, reject }));
    void this.#follow();
    return await ended;
  }

  close(): void {
    this.#closed.abort();
    for (const controller of this.#asks.values()) controller.abort();
  }

  /** A sidecar that goes away is waited for. */
  async #follow(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      try {
        const query = { since: this.#since, waitMs: MAX_WAIT_MS };
        const reply = await this.#client.readTranscript(this.#threadId, query);
        this.#since = reply.offset;
        for (const event of eventsIn(reply.lines)) await this.#take(event);
      } catch {
        await pause(RETRY_MS, this.#closed.signal); // the next look says whether it is back
      }
    }
  }

  async #take(event: ThreadEvent): Promise<void> {
    const isOwn = event.type === "user_message" && this.#isOwn(event.messageId);
    for (const update of updatesOf(event, isOwn)) await this.#editor.update(update);
    switch (event.type) {
      case "permission_request":
        void this.#ask(event);
        return;
      case "permission_response":
        this.#asks.get(event.requestId)?.abort();
        return;
      case "delivery":
        for (const id of event.messageIds) this.#rename(id, event.deliveryId, event.messageIds.length > 1);
        return;
      case "turn_end":
        this.#lastEnd = event;
        return;
      case "delivery_update":
        if (event.status === "completed" || event.status === "cancelled") this.#end(event);
        return;
      case "failure":
        for (const { reject } of this.#prompts.values()) reject(new Error(event.message));
        this.#prompts.clear();
        return;
      default:
        return;
    }
  }

  #isOwn(messageId: string): boolean {
    const first = this.#prompts.get(FIRST);
    if (!first) return this.#own.delete(messageId);
    this.#prompts.delete(FIRST);
    this.#prompts.set(messageId, first);
    return true;
  }

  #rename(messageId: string, deliveryId: string, isShared: boolean): void {
    const prompt = this.#prompts.get(messageId);
    if (!prompt) return;
    this.#prompts.delete(messageId);
    const other = isShared ? this.#prompts.get(deliveryId) : undefined;
    this.#prompts.set(deliveryId, {
      resolve: (reason) => [other, prompt].map((one) => one?.resolve(reason)),
      reject: (error) => [other, prompt].map((one) => one?.reject(error)),
    });
  }

  #end({ deliveryId, status }: EventOf<"delivery_update">): void {
    const prompt = this.#prompts.get(deliveryId);
    this.#prompts.delete(deliveryId);
    const reason = stopReasonOf(this.#lastEnd?.stopReason ?? "end_turn");
    if (status === "cancelled" || reason === undefined) prompt?.resolve("cancelled");
    else if (reason === "error") prompt?.reject(new Error(this.#lastEnd?.error ?? "the turn failed"));
    else prompt?.resolve(reason);
  }

  /** The first answer counts: the other side's dialog is withdrawn. */
  async #ask({ requestId, toolCallId, title, options }: EventOf<"permission_request">): Promise<void> {
    const controller = new AbortController();
    this.#asks.set(requestId, controller);
    const shown = options.map(({ optionId, name, kind }) => ({ optionId, name, kind }));
    try {
      const optionId = await this.#editor.ask({ toolCallId, title, options: shown }, controller.signal);
      if (optionId !== undefined && !controller.signal.aborted)
        await this.#client.answerAsk(this.#threadId, requestId, { optionId });
    } catch (error) {
      if (controller.signal.aborted) return; // answered elsewhere
      const text = `The answer did not count: ${errorText(error)}\n\n`;
      await this.#editor.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    } finally {
      this.#asks.delete(requestId);
    }
  }
}

function eventsIn(lines: string): ThreadEvent[] {
  return lines.split("\n").flatMap((line) => findEvent(line) ?? []);
}
