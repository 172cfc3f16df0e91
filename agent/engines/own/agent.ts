/**
 * The loop: a message is heard, the model is called, its calls are run, and the model is called again. What it does next
 * follows from the history alone, so a process that takes over from a dead one goes on where that one was.
 */
import type { EventBody } from "../../../shared/agent/events.ts";
import { turnIdOf } from "../../../shared/agent/turn-id.ts";
import { assertNever } from "../../../shared/errors.ts";
import type { Env } from "../../engine.ts";
import { type Answered, Answers, earlyEnd } from "./answer.ts";
import { Calls } from "./calls.ts";
import { Choice } from "./choice.ts";
import { Compaction } from "./compaction.ts";
import { History } from "./history.ts";
import type { McpTools } from "./mcp.ts";
import { opening } from "./opening.ts";
import { Output } from "./output.ts";
import { ASK_FOR_OUTPUT, type OutputTool } from "./output-tool.ts";
import { Pictures } from "./pictures.ts";
import { nameOfOrdered, type Ordered, type Part, type Start, type ToOwn } from "./protocol.ts";
import { readHistory } from "./read-history.ts";
import { Requests } from "./requests.ts";
import { systemPrompt } from "./system-prompt.ts";
import type { makeTools, ToolSet } from "./tools/tool-set.ts";
import type { Where } from "./tools/where.ts";
import { Turn } from "./turn.ts";

export interface AgentOptions {
  start: Start;
  /** The thread's. */
  folder: string;
  /** The model's address and key are in it. */
  env: Env;
  /** Of commands. */
  commandEnv: Env;
  where: Where;
  makeTools: typeof makeTools;
  /** Beside those. */
  mcp: McpTools;
  /** Of a thread whose results are held to a schema. */
  output: OutputTool | undefined;
  /** Undefined if it is gone. */
  readImage: (uri: string) => Buffer | undefined;
  /** Of the program's lines; it returns when all bytes are out. */
  write: (bytes: Buffer) => void;
  exit: () => void;
}

export class Agent {
  readonly #options: AgentOptions;
  readonly #history = new History();
  readonly #output: Output;
  readonly #requests: Requests;
  readonly #choice: Choice;
  readonly #tools: ToolSet;
  readonly #calls: Calls;
  readonly #answers: Answers;
  readonly #compacting: Compaction;
  readonly #done = new Set<string>();
  readonly #waiting: { deliveryId: string; parts: Part[] }[] = [];
  #compaction: Extract<Ordered, { op: "compact" }> | undefined;
  #turn: Turn | undefined;
  #isOpen = false;
  #wake: () => void = () => {};

  constructor(options: AgentOptions) {
    const { start, env, commandEnv, where } = options;
    const pictures = new Pictures(options.readImage);
    this.#options = options;
    this.#choice = new Choice(start, env);
    const prefix = `${start.generation}`;
    const history = this.#history;
    const output = new Output(history, options.write);
    this.#output = output;
    this.#requests = new Requests(`r${start.sessionId.slice(0, 8)}-${prefix}`);
    this.#tools = options.makeTools((tasks) => {
      const told = tasks.map(({ taskId, title }) => ({ taskId, title }));
      output.say({ events: [{ type: "background_update", tasks: told }] });
    });
    const { mcp, output: result } = options;
    const tools = [...this.#tools.tools, ...mcp.tools, ...(result ? [result.tool] : [])];
    const modeId = () => this.#choice.modeId;
    this.#calls = new Calls({
      history,
      output,
      pictures,
      requests: this.#requests,
      tools,
      where,
      env: commandEnv,
      modeId,
    });
    const system = systemPrompt(start.config);
    const { params } = start.config.agent;
    this.#answers = new Answers({
      ...{ history, output, calls: this.#calls, env, system, tools, params, prefix },
      readImage: (uri) => pictures.read(uri),
    });
    this.#compacting = new Compaction(history, output, this.#answers, params.maxInputTokens);
  }

  /** A line of the runner's. One that has come before does nothing. */
  take(line: ToOwn): void {
    switch (line.op) {
      case "open":
        this.#open();
        return;
      case "deliver":
        if (!this.#isNew(line.deliveryId)) return;
        this.#waiting.push(line);
        this.#output.say({ received: line.deliveryId, isBusy: true });
        this.#wake();
        return;
      case "answer":
        this.#requests.answer(line.verdict);
        return;
      case "control":
        if (this.#isNew(nameOfOrdered(line.control))) this.#control(line.control);
        this.#wake();
        return;
      case "rules":
        if (!this.#isNew(`rules-${line.seq}`)) return;
        for (const rule of line.ask) this.#history.rules.delete(rule);
        this.#output.say({ did: `rules-${line.seq}` });
        return;
      case "cost":
        this.#output.say({ costFor: line.id });
        return;
      case "end":
        void this.#tools.close().then(this.#options.exit);
        return;
      default:
        assertNever(line);
        return;
    }
  }

  #isNew(name: string): boolean {
    if (this.#done.has(name)) return false;
    this.#done.add(name);
    return true;
  }

  #control(control: Ordered): void {
    const did = nameOfOrdered(control);
    switch (control.op) {
      case "interrupt":
        this.#output.say({ did });
        this.#turn?.stop();
        return;
      case "mode":
        this.#output.say({ did, events: this.#choice.changeMode(control) });
        return;
      case "model":
        this.#output.say({ did, events: this.#choice.changeModel(control) });
        return;
      case "compact":
        this.#compaction = control;
        this.#output.say({ did, isBusy: true });
        return;
      case "end_task":
        this.#output.say({ did });
        void this.#tools.endTask(control.taskId);
        return;
      default:
        assertNever(control);
        return;
    }
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const { start, folder } = this.#options;
    readHistory(this.#history, folder);
    for (const rule of start.rules) this.#history.rules.add(rule);
    const goesOn = this.#history.turn !== undefined;
    const events = opening(start, this.#choice, this.#options.mcp.problems);
    const nothing = start.takesUp && !goesOn ? { takesUpNothing: true as const } : {};
    this.#output.say({ events, isOpen: true, isBusy: goesOn, ...nothing });
    void this.#run();
  }

  async #run(): Promise<void> {
    if (this.#history.isCompacting) this.#compacting.giveUp();
    if (this.#history.turn) this.#beginTurn("resume", [...this.#history.turn]);
    this.#calls.settle();
    for (;;) {
      const isBusy = await this.#step();
      if (isBusy) continue;
      this.#output.say({ isBusy: false });
      if (this.#waiting.length > 0 || this.#compaction) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** One thing that is to be done next. @returns false if there is nothing */
  async #step(): Promise<boolean> {
    const turn = this.#turn;
    if (turn?.signal.aborted) {
      this.#endTurn(turn, "cancelled");
      return true;
    }
    if (turn && this.#history.openCalls.length > 0) {
      turn.isRoundOver = false;
      await this.#calls.run(turn.signal);
      return true;
    }
    const given = turn && this.#findResult();
    if (turn && given) {
      this.#endTurn(turn, "end_turn", undefined, given);
      return true;
    }
    if (turn && this.#history.lastCalls.length > 0 && !turn.isRoundOver) {
      await this.#endRound(turn);
      return true;
    }
    if (this.#waiting.length > 0) {
      this.#hear(this.#waiting.splice(0));
      return true;
    }
    if (this.#compaction && !turn) {
      await this.#compact(this.#compaction);
      return true;
    }
    if (!turn) return false;
    if (!this.#isAnswered()) await this.#answer(turn);
    else if (!this.#options.output || !turn.mayAskForOutput()) this.#endTurn(turn, "end_turn");
    else {
      turn.news = ASK_FOR_OUTPUT;
      await this.#answer(turn);
    }
    return true;
  }

  /** The runner may hold the thread here, at a limit. */
  async #endRound(turn: Turn): Promise<void> {
    const requestId = this.#requests.newId();
    this.#output.say({ requests: [{ requestId, kind: "hook", toolCallId: "", isAfterCalls: true }] });
    const verdict = await this.#requests.wait({ requestId }, turn.signal);
    this.#output.say({ closed: [{ requestId, ...(verdict && { verdict }) }] });
    turn.isRoundOver = true;
    turn.news = verdict?.text;
  }

  #hear(deliveries: readonly { deliveryId: string; parts: Part[] }[]): void {
    const begun = this.#turn
      ? []
      : [
          this.#startOfTurn(
            "message",
            deliveries.map(({ deliveryId }) => deliveryId),
          ),
        ];
    this.#output.say({
      isBusy: true,
      events: [
        ...begun,
        ...deliveries.map(
          ({ deliveryId, parts: said }): EventBody => ({
            ...{ type: "delivery_update", deliveryId, status: "started", meta: { said } },
          }),
        ),
      ],
    });
  }

  #beginTurn(cause: "message" | "resume", deliveryIds: string[]): void {
    this.#output.say({ events: [this.#startOfTurn(cause, deliveryIds)], isBusy: true });
  }

  #startOfTurn(cause: "message" | "resume", deliveryIds: string[]): EventBody {
    const turnId = turnIdOf(this.#options.start, this.#output.byte);
    this.#turn = new Turn(turnId);
    return { type: "turn_start", turnId, cause, deliveryIds };
  }

  /** That the model has given in its newest answer. */
  #findResult(): { result: unknown } | undefined {
    const { output } = this.#options;
    const call = this.#history.lastCalls.find(
      ({ name, end }) => name === output?.tool.name && end?.status === "completed",
    );
    return output && call && { result: output.resultOf(call.input) };
  }

  /** By a person's wish, while no turn runs. */
  async #compact({ text: hint }: Extract<Ordered, { op: "compact" }>): Promise<void> {
    this.#compaction = undefined;
    const chosen = this.#choice.find();
    if (!("problem" in chosen))
      return void (await this.#compacting.run("manual", { chosen, turn: new Turn(""), hint }));
    this.#output.say({ events: [{ type: "compaction_update", status: "failed", error: chosen.problem }] });
  }

  /** The newest thing that was said is the model's, and it called nothing. */
  #isAnswered(): boolean {
    return this.#history.items.at(-1)?.kind === "answer" && this.#history.lastCalls.length === 0;
  }

  async #answer(turn: Turn): Promise<void> {
    const { news } = turn;
    turn.news = undefined;
    const chosen = this.#choice.find();
    if ("problem" in chosen) return this.#endTurn(turn, "error", chosen.problem);
    if (this.#compacting.isDue) await this.#compacting.run("auto", { chosen, turn });
    if (turn.signal.aborted) return;
    const asked = { kind: "chat" as const, title: "Calling LLM", news, signal: turn.signal };
    const answered = await this.#answers.next(chosen, asked, (price, usage) => turn.spend(price, usage));
    turn.isRoundOver = false;
    if (answered.is === "failed") {
      const { sentence, isTooLong } = answered.fault;
      if (isTooLong && (await this.#compacting.run("auto", { chosen, turn }))) return;
      return this.#endTurn(turn, turn.signal.aborted ? "cancelled" : "error", sentence);
    }
    if (answered.is === "answer") this.#endEarly(turn, answered);
  }

  /** An answer without calls that the provider has not ended by itself. */
  #endEarly(turn: Turn, { finish, text }: Extract<Answered, { is: "answer" }>): void {
    if (this.#history.lastCalls.length > 0) return;
    const early = earlyEnd(finish);
    if (early) this.#endTurn(turn, early);
    // It has nothing to say, and would be asked again for ever.
    else if (text === "" && !this.#options.output) this.#endTurn(turn, "end_turn");
  }

  #endTurn(
    turn: Turn,
    stopReason: "end_turn" | "cancelled" | "error" | "max_tokens" | "refusal",
    error?: string,
    more: { result?: unknown } = {},
  ): void {
    const deliveryIds = this.#history.turn ?? [];
    const stopped = stopReason === "cancelled" ? this.#calls.stopped() : { events: [], closed: [] };
    this.#turn = undefined;
    this.#output.say({
      isBusy: this.#waiting.length > 0,
      events: [
        ...stopped.events,
        turn.end(stopReason, error, more),
        ...deliveryIds.map(
          (deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "completed" }),
        ),
      ],
      closed: stopped.closed,
    });
  }
}
