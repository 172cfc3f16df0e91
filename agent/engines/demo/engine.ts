/** The stand-in as a whole: takes lines, keeps the queue of messages, and runs one turn after the other. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type * as z from "zod";
import { type Args, askedIn, bypassRefusal, Mode } from "./args.ts";
import { answerTo, type Behaviour } from "./behaviour.ts";
import type { Context, Settings } from "./calls.ts";
import { compact, isCommand } from "./compact.ts";
import { blocksOf, Input } from "./input.ts";
import { costOf, describeEngine, describeResult, describeUsage, type Output, type Usage } from "./output.ts";
import { Hooks, Peer } from "./peer.ts";
import type { Spoken } from "./script.ts";
import type { SessionFile } from "./session-file.ts";
import { type Notification, Tasks } from "./tasks.ts";
import { type Cause, type Message, Turn } from "./turn.ts";

const CUT_OFF_CALL =
  "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]";
const TAKE_UP_MS = 200;

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
  /** The cut-off turn that is about to go on. */
  #cut: Extract<Cause, { kind: "resume" }> | undefined;
  #isCompacting = false;
  /** The turn that runs. */
  #turn: AbortController | undefined;
  #results = 0;
  /** The cost of the conversation. It is saved at an orderly end alone, as the real program does. */
  #costUsd: number;
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
    this.#costUsd = session.cost();
    this.#behaviour = behaviour;
    this.#peer = new Peer(output);
    const folder = join(session.path.replace(/\.jsonl$/, ""), "tasks");
    this.#tasks = new Tasks(output, cwd, folder, (notification) => this.#taskEnded(notification));
    const { mode, model, allowed, disallowed, tools: only, mcpConfig } = args;
    const { deny: denied } = args.settings.permissions;
    const rules = [...allowed, ...askedIn(args.settings)];
    const settings: Settings = { mode, model, rules, denied, disallowed: [...disallowed], tools: only };
    const setMode = (name: string) => this.#setMode(name);
    const [peer, tasks, { writeMs }] = [this.#peer, this.#tasks, behaviour];
    this.#context = { output, peer, session, tasks, settings, cwd, setMode, writeMs, mcpConfig };
  }

  /** Takes up the turn that a kill cut off, if the environment says so. */
  start(): void {
    if (!this.#args.isResumed) return;
    const cut = this.#session.cutOff();
    if (!cut) return;
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
    if (!cut.isBegun) {
      // A prompt of the caller's own is said in any case.
      if (resumePrompt !== undefined) this.#addPrompt(resumePrompt, uuid);
      this.#cut = { kind: "resume", uuid: cut.uuid, of: cut.uuid, echo: cut.content };
    } else {
      this.#addPrompt(resumePrompt ?? "Continue from where you left off.", uuid);
      this.#cut = { kind: "resume", uuid, of: cut.uuid };
    }
    const { takeUpMs } = this.#behaviour;
    if (takeUpMs === 0) this.#output.lifecycle(this.#cut.uuid, "started");
    // The runner has this long to initialize the engine; the engine goes on without that, too.
    setTimeout(() => this.#takeUp(), takeUpMs || TAKE_UP_MS);
  }

  /** As the real one does, which says nothing of the turn before the tools of the person's servers are there. */
  #takeUp(): void {
    const cause = this.#cut;
    if (!cause || this.#turn) return;
    this.#cut = undefined;
    if (this.#behaviour.takeUpMs > 0) this.#output.lifecycle(cause.uuid, "started");
    this.#begin(cause);
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
        // The runner may read from this echo that its answer has arrived.
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
    this.#session.addCost(this.#costUsd);
    this.#session.save();
  }

  /** A turn runs, or a cut-off one is about to go on. */
  get #isBusy(): boolean {
    return this.#turn !== undefined || this.#cut !== undefined || this.#isCompacting;
  }

  #control({ request_id, request }: Request): void {
    const { settings } = this.#context;
    switch (request.subtype) {
      case "initialize":
        this.#peer.hooks = Hooks.parse(request["hooks"] ?? {});
        this.#output.reply(request_id, describeEngine(settings, "hooks" in request, this.#isBusy), {
          pending_permission_requests: this.#peer.openAsks(),
          pending_user_dialog_requests: [],
        });
        if (this.#behaviour.takeUpMs === 0) setImmediate(() => this.#takeUp());
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
        if (!this.#tasks.stop(id, () => this.#output.reply(request_id, {}))) {
          this.#output.refuse(request_id, `No task found with ID: ${id}`, "request_failed");
        }
        return;
      }
      case "apply_flag_settings":
        settings.rules = settings.rules.filter((rule) => !rule.startsWith("?"));
        settings.rules.push(...askedIn(request["settings"]));
        this.#output.reply(request_id);
        return;
      case "get_usage":
        this.#output.reply(request_id, { session: { total_cost_usd: this.#costUsd } });
        return;
      case "get_context_usage":
        return void this.#output.reply(
          request_id,
          describeUsage(this.#session.conversation(), settings.model),
        );
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
      this.#output.user(content, uuid, { isReplay: true, timestamp: undefined });
      this.#output.lifecycle(uuid, "completed");
      return;
    }
    this.#output.lifecycle(uuid, "queued");
    this.#queue.push(message);
    this.#next();
  }

  /** Begins the next turn, if none runs and there is one. */
  #next(): void {
    if (this.#turn || this.#cut || this.#isCompacting) return;
    const [first] = this.#queue;
    if (first && isCommand(first)) {
      this.#queue.shift();
      void this.#compact(first);
      return;
    }
    if (first) {
      const messages = this.#takeQueued();
      this.#beginWith(messages, messages.at(-1) ?? first);
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

  /** Several messages become one with the last one's id; the others are echoed at once. */
  #beginWith(messages: readonly Message[], { uuid }: Message): void {
    for (const message of messages) {
      if (message.uuid !== uuid)
        this.#output.user(message.content, message.uuid, { isReplay: true, timestamp: undefined });
    }
    const uuids = messages.map((message) => message.uuid);
    for (const one of uuids) this.#output.lifecycle(one, "started");
    const content = messages.flatMap((message) => message.content);
    this.#session.addMessage(content, { uuid, merged: uuids.length > 1 ? uuids : [] });
    this.#begin({ kind: "message", uuids, echo: { uuid, content } });
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
      answer: (conversation: readonly Spoken[]) => answerTo(conversation, this.#behaviour),
      onUsage: (usage: Usage) => {
        this.#costUsd += costOf(usage);
      },
    };
    new Turn(options).run().then(
      ({ fields, usage, absorbed }) => {
        const isCancelled = fields["is_error"] === true;
        for (const uuid of absorbed) this.#output.lifecycle(uuid, "completed");
        this.#printResult({ ...fields, usage });
        const state = isCancelled ? "cancelled" : "completed";
        if (cause.kind === "message") {
          for (const uuid of cause.uuids) this.#output.lifecycle(uuid, state);
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

  #printResult(fields: Record<string, unknown>): void {
    const result = describeResult(fields, this.#context.settings.model, this.#costUsd);
    // As the real one does, seen in its writes: who has read a turn's end finds the turn in the conversation's file.
    this.#session.save();
    const counts = { queued_turn_count: this.#queue.length, result_index: this.#results++ };
    this.#output.event({ type: "result", ...result, ...counts });
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
    const refusal = mode.data === "bypassPermissions" ? bypassRefusal(this.#args) : undefined;
    if (refusal) return void this.#output.refuse(requestId, refusal.text, refusal.code);
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

  async #compact(message: Message): Promise<void> {
    this.#isCompacting = true;
    const fields = await compact(message, this.#context);
    this.#isCompacting = false;
    this.#costUsd += costOf(fields["usage"] as Usage);
    this.#printResult(fields);
    this.#output.lifecycle(message.uuid, "completed");
    this.#next();
  }

  #addPrompt(text: string, uuid: string): void {
    this.#session.addMessage([{ type: "text", text }], { uuid, isMeta: true });
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
