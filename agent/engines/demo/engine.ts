/** The stand-in as a whole: takes lines, keeps the queue of messages, and runs one turn after the other. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { type Args, Mode } from "./args.ts";
import type { Context, Settings } from "./calls.ts";
import { compact, isCommand } from "./compact.ts";
import { describeEngine, type Output } from "./output.ts";
import { Hooks, Peer } from "./peer.ts";
import { nextRound, parseScripts, type Round } from "./script.ts";
import type { Block, SessionFile } from "./session-file.ts";
import { type Notification, Tasks } from "./tasks.ts";
import { tour, tourIsOver } from "./tour.ts";
import { type Cause, type Message, Turn } from "./turn.ts";

/** What the environment says. */
export interface Behaviour {
  /** A cut-off turn goes on by itself. */
  resumesTurn: boolean;
  /** It goes on with the unfinished calls in it. */
  showsCutOffCalls: boolean;
  resumePrompt: string;
  /** What the model says before any script of a message; the tour, if undefined. */
  opening: Round[] | undefined;
  callsAgain: boolean;
}

const CUT_OFF_CALL =
  "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]";
/** Dollars for a token: enough to see a sum grow. */
const PRICE = { input: 4e-6, output: 2e-5 };

const BlockShape = z.looseObject({ type: z.string(), text: z.string().optional() });
const Input = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("user"),
    message: z.looseObject({ role: z.literal("user"), content: z.union([z.string(), z.array(BlockShape)]) }),
    uuid: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal("control_request"),
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string() }),
  }),
  z.looseObject({
    type: z.literal("control_response"),
    response: z.looseObject({ request_id: z.string(), response: z.unknown() }),
  }),
]);
type Request = z.infer<typeof Input> & { type: "control_request" };

export class Engine {
  readonly #output: Output;
  readonly #session: SessionFile;
  readonly #peer: Peer;
  readonly #tasks: Tasks;
  readonly #context: Context;
  readonly #behaviour: Behaviour;
  readonly #args: Args;
  #queue: Message[] = [];
  #notifications: Notification[] = [];
  /** The turn that runs. */
  #turn: AbortController | undefined;
  #results = 0;
  readonly #end: (code: number) => void;

  constructor(
    args: Args,
    session: SessionFile,
    output: Output,
    behaviour: Behaviour,
    end: (code: number) => void,
  ) {
    const cwd = process.cwd();
    this.#args = args;
    this.#end = end;
    this.#output = output;
    this.#session = session;
    this.#behaviour = behaviour;
    this.#peer = new Peer(output);
    const folder = join(session.path.replace(/\.jsonl$/, ""), "tasks");
    this.#tasks = new Tasks(output, cwd, folder, (notification) => this.#taskEnded(notification));
    const { mode, model, allowed, disallowed } = args;
    const settings: Settings = { mode, model, rules: [...allowed], disallowed: [...disallowed] };
    const setMode = (name: string) => this.#setMode(name);
    this.#context = { output, peer: this.#peer, session, tasks: this.#tasks, settings, cwd, setMode };
  }

  /** Takes up the turn that a kill cut off, if the environment says so. */
  start(): void {
    if (!this.#args.isResumed) return;
    const of = this.#session.cutOff();
    if (of === undefined) return;
    const open = this.#session.openCalls();
    const { resumesTurn, showsCutOffCalls, resumePrompt } = this.#behaviour;
    if (showsCutOffCalls || !resumesTurn) {
      for (const { id = "" } of open) this.#closeCall(id);
    }
    const uuid = randomUUID();
    if (!resumesTurn) {
      const content = [{ type: "text", text: "No response requested." }];
      this.#session.add({ type: "assistant", message: { role: "assistant", id: uuid, content }, uuid });
      return;
    }
    this.#output.lifecycle(uuid, "started");
    this.#session.addMessage([{ type: "text", text: resumePrompt }], { uuid, isMeta: true });
    this.#begin({ kind: "resume", uuid, of });
  }

  /** @throws Error if the line is no line of the protocol: the engine then ends. */
  receive(line: string): void {
    const input = Input.parse(JSON.parse(line));
    switch (input.type) {
      case "user":
        this.#take({ uuid: input.uuid ?? randomUUID(), content: blocksOf(input.message.content) });
        return;
      case "control_response":
        if (!this.#peer.isWaiting(input.response.request_id)) return;
        // Whoever answered may read from this echo that the answer has arrived.
        this.#output.line(input);
        this.#peer.answer(input.response.request_id, input.response.response);
        return;
      case "control_request":
        this.#control(input);
        return;
    }
  }

  /** What is running ends; what it has started, too. */
  close(): void {
    this.#tasks.close();
    this.#turn?.abort();
  }

  get isIdle(): boolean {
    return this.#turn === undefined && this.#queue.length === 0;
  }

  #control({ request_id, request }: Request): void {
    const { settings } = this.#context;
    switch (request.subtype) {
      case "initialize":
        this.#peer.hooks = Hooks.parse(request["hooks"] ?? {});
        this.#output.reply(request_id, describeEngine(settings.mode, settings.model));
        return;
      case "interrupt":
        this.#interrupt(request_id, request["cancel_queued"] === true);
        return;
      case "set_permission_mode":
        this.#changeMode(request_id, request["mode"]);
        return;
      case "set_model":
        this.#changeModel(request_id, String(request["model"] ?? "default"));
        return;
      case "stop_task": {
        const id = String(request["task_id"]);
        if (this.#tasks.stop(id)) this.#output.reply(request_id, {});
        else this.#output.refuse(request_id, `No task found with ID: ${id}`, "request_failed");
        return;
      }
      case "end_session":
        this.#output.reply(request_id);
        this.#end(0);
        return;
      default: {
        const text = `Unsupported control request subtype: ${request.subtype}`;
        this.#output.refuse(request_id, text, "unsupported_request");
        return;
      }
    }
  }

  #take(message: Message): void {
    const { uuid, content } = message;
    if (this.#session.has(uuid)) {
      this.#output.user(content, uuid, { isReplay: true });
      this.#output.lifecycle(uuid, "completed");
      return;
    }
    this.#output.lifecycle(uuid, "queued");
    this.#queue.push(message);
    this.#next();
  }

  /** Begins the next turn, if none runs and there is one. */
  #next(): void {
    if (this.#turn) return;
    const [first] = this.#queue;
    if (first && isCommand(first)) {
      this.#queue.shift();
      this.#compact(first);
      return;
    }
    if (first) {
      const messages = this.#takeQueued();
      for (const { uuid } of messages) this.#output.lifecycle(uuid, "started");
      const { uuid } = messages.at(-1) ?? first;
      const content = messages.flatMap((message) => message.content);
      const merged = messages.length > 1 ? messages.map((message) => message.uuid) : [];
      this.#session.addMessage(content, { uuid, merged });
      this.#begin({ kind: "message", messages });
      return;
    }
    const notification = this.#notifications.shift();
    if (!notification) return;
    this.#session.addMessage([{ type: "text", text: notification.text }], {
      uuid: randomUUID(),
      isMeta: true,
    });
    this.#begin({ kind: "task", runId: notification.runId });
  }

  /** The messages before the next command. */
  #takeQueued(): Message[] {
    const at = this.#queue.findIndex(isCommand);
    return this.#queue.splice(0, at < 0 ? this.#queue.length : at);
  }

  #begin(cause: Cause): void {
    const turn = new AbortController();
    this.#turn = turn;
    const options = {
      context: this.#context,
      cause,
      signal: turn.signal,
      takeQueued: () => this.#takeQueued(),
      answer: (conversation: Parameters<typeof nextRound>[0]) => this.#answerTo(conversation),
    };
    new Turn(options).run().then(
      ({ fields, usage, absorbed }) => {
        const isCancelled = fields["is_error"] === true;
        for (const uuid of absorbed) this.#output.lifecycle(uuid, "completed");
        this.#printResult({ ...fields, usage });
        const state = isCancelled ? "cancelled" : "completed";
        if (cause.kind === "message") {
          for (const { uuid } of cause.messages) this.#output.lifecycle(uuid, state);
        } else if (cause.kind === "resume") this.#output.lifecycle(cause.uuid, state);
        this.#turn = undefined;
        this.#next();
      },
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
        this.#end(1);
      },
    );
  }

  #answerTo(conversation: Parameters<typeof nextRound>[0]): Round {
    const { callsAgain, opening } = this.#behaviour;
    const isScripted = conversation.some(
      ({ role, text }) => role === "user" && parseScripts(text).length > 0,
    );
    const first = opening ?? (isScripted ? [] : tour);
    return nextRound(conversation, { callsAgain, opening: first }) ?? tourIsOver;
  }

  #printResult(fields: Record<string, unknown>): void {
    const usage = fields["usage"] as { input_tokens: number; output_tokens: number };
    const cost = usage.input_tokens * PRICE.input + usage.output_tokens * PRICE.output;
    const total = this.#session.cost() + cost;
    this.#session.addCost(total);
    const modelUsage = {
      [this.#context.settings.model]: {
        inputTokens: usage.input_tokens,
        outputTokens: usage.output_tokens,
        cacheReadInputTokens: 0,
        cacheCreationInputTokens: 0,
        webSearchRequests: 0,
        costUSD: cost,
        contextWindow: 200_000,
        maxOutputTokens: 32_000,
      },
    };
    this.#output.event({
      type: "result",
      ...fields,
      total_cost_usd: total,
      modelUsage,
      fast_mode_state: "off",
      queued_turn_count: this.#queue.length,
      result_index: this.#results++,
    });
  }

  #interrupt(requestId: string, cancelsQueued: boolean): void {
    this.#turn?.abort(new Error("interrupted"));
    const cancelled = cancelsQueued ? this.#queue.splice(0).map(({ uuid }) => uuid) : [];
    for (const uuid of cancelled) this.#output.lifecycle(uuid, "cancelled");
    const still_queued = this.#queue.map(({ uuid }) => uuid);
    this.#output.reply(requestId, cancelsQueued ? { still_queued, cancelled } : { still_queued });
  }

  #changeMode(requestId: string, name: unknown): void {
    const mode = Mode.safeParse(name);
    if (!mode.success) {
      this.#output.refuse(requestId, `Invalid permission mode: ${String(name)}`, "invalid_mode");
      return;
    }
    if (mode.data === "bypassPermissions" && this.#args.mode !== "bypassPermissions") {
      const text =
        "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions";
      this.#output.refuse(requestId, text, "bypass_not_launched");
      return;
    }
    this.#output.reply(requestId, { mode: mode.data });
    this.#setMode(mode.data);
  }

  #setMode(name: string): void {
    const mode = Mode.parse(name);
    if (this.#context.settings.mode === mode) return;
    this.#context.settings.mode = mode;
    this.#output.system("status", { status: null, permissionMode: mode });
  }

  #changeModel(requestId: string, model: string): void {
    this.#context.settings.model = model;
    const text = `<local-command-stdout>Set model to \`${model}\`</local-command-stdout>`;
    this.#output.user(text, randomUUID(), { isReplay: true });
    this.#output.reply(requestId, { model });
  }

  #compact(message: Message): void {
    this.#printResult(compact(message, this.#context));
    this.#output.lifecycle(message.uuid, "completed");
    this.#next();
  }

  #closeCall(id: string): void {
    const content = [{ type: "tool_result", content: CUT_OFF_CALL, is_error: true, tool_use_id: id }];
    this.#session.add({ type: "user", message: { role: "user", content }, toolUseResult: CUT_OFF_CALL });
  }

  #taskEnded(notification: Notification): void {
    this.#notifications.push(notification);
    this.#next();
  }
}

const blocksOf = (content: string | z.infer<typeof BlockShape>[]): Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content as Block[]);
