/**
 * Our program around an ACP agent: it starts the agent, tells it what the runner sends, and tells the runner what the
 * agent says. It survives a runner. If the agent dies it dies too, and the next one goes on with the conversation.
 */
import type { ContentPart } from "../../engine.ts";
import { AgentProgram } from "./agent-program.ts";
import { Connection, type ConnectionHandlers, type Deadlines, OpenError } from "./connection.ts";
import type { Prompted, Update } from "./messages.ts";
import { OpenAsks } from "./open-asks.ts";
import type { FromAdapter, Said, Spec, ToAdapter } from "./protocol.ts";
import { markerOf } from "./requests.ts";
import { Silence, type SilenceLimits } from "./silence.ts";
import { Turn } from "./turn.ts";
import { endLine } from "./turn-end.ts";
import { Updates } from "./updates.ts";
import { type Delivery, Once, Waiting } from "./waiting.ts";

export interface AdapterOptions {
  spec: Spec;
  env: NodeJS.ProcessEnv;
  /** @param quietMs after so long people are told that it has not started */
  deadlines: Deadlines & { quietMs: number };
  /** How long it may say nothing in a turn: before people are told, and before it is ended. */
  silence: SilenceLimits;
  /** An agent may go on for so many milliseconds after it was told to stop. */
  cancelMs: number;
  /** Writes a line for the runner. @param isDurable on the disk when it returns */
  say: (line: FromAdapter, isDurable?: boolean) => void;
  log: (text: string) => void;
  exit: (code: number) => void;
}

interface Running {
  program: AgentProgram;
  connection: Connection;
}

const LIVE_MS = 200;
export class Adapter {
  readonly #options: AdapterOptions;
  readonly #updates: Updates;
  readonly #waiting = new Waiting();
  readonly #asks: OpenAsks;
  readonly #once = new Once();
  readonly #silence: Silence;
  #agent: Running | undefined;
  #isOpen = false;
  #isEnding = false;
  #isSteering = false;
  #modeId = "";
  #turn: Turn | undefined;
  #liveTimer: NodeJS.Timeout | undefined;

  constructor(options: AdapterOptions) {
    this.#options = options;
    const { spec, say } = options;
    this.#updates = new Updates(spec.dir);
    this.#asks = new OpenAsks({
      allowedTools: spec.allowedTools,
      updates: this.#updates,
      say,
      notice: (title, description) => this.#notice(title, description),
    });
    this.#silence = new Silence({
      ...options.silence,
      isExcused: () => !this.#asks.isEmpty || this.#updates.isCalling,
      quiet: (title, description) => this.#notice(title, description),
      silent: (why) => void this.#silent(why),
    });
  }

  take(line: ToAdapter): void {
    switch (line.op) {
      case "open":
        if (!this.#agent) void this.#open();
        return;
      case "deliver":
        this.#waiting.add({ id: line.id, parts: line.parts });
        this.#work();
        return;
      case "answer":
        this.#asks.answer(line.requestId, line.optionId);
        return;
      case "mode":
        void this.#setMode(line);
        return;
      case "interrupt":
        this.#interrupt(line.seq);
        return;
      case "end":
        void this.#end();
        return;
    }
  }

  async #open(): Promise<void> {
    const { spec, deadlines, say, exit } = this.#options;
    if (spec.refusal !== undefined) {
      say({ type: "failed", code: "engine_refused", message: spec.refusal });
      return exit(1);
    }
    const program = new AgentProgram(spec.program, spec.args, spec.dir, this.#options.env);
    const connection = new Connection(spec, program, this.#handlers());
    this.#agent = { program, connection };
    void program.ended.then((how) => this.#agentEnded(how));
    const slow = setTimeout(() => this.#notice("The agent is slow to start"), deadlines.quietMs);
    try {
      const opened = await connection.open(deadlines);
      this.#isOpen = true;
      this.#modeId = opened.modeId;
      say({ type: "ready", ...opened });
      const held = spec.taken.filter((id) => !opened.lost.includes(id));
      for (const id of held) this.#waiting.markHeld(id);
      if (spec.goOn !== undefined && (held.length > 0 || spec.taken.length === 0))
        this.#goOn(spec.goOn, held);
      this.#work();
    } catch (error) {
      if (!(error instanceof OpenError)) throw error;
      await this.#fail(error);
    } finally {
      clearTimeout(slow);
    }
  }

  /** Its end may be why: then what it said last is known in a moment. */
  async #fail(error: OpenError): Promise<void> {
    const { program, connection } = this.#agentOr();
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (error.isGone) this.#options.say({ type: "gone", message: error.message });
    else this.#sayFailed("engine_refused", error.message, connection, program);
    await program.end();
    this.#options.exit(1);
  }

  #sayFailed(
    code: Said<"failed">["code"],
    message: string,
    connection: Connection,
    program: AgentProgram,
  ): void {
    const { spec, say } = this.#options;
    const parts = [
      `The agent ${spec.program} can't be used. ${message}`,
      connection.noise,
      program.lastWords(),
    ].filter((part) => part !== "");
    say({ type: "failed", code, message: parts.join("\n") });
  }

  #agentEnded(how: string): void {
    const { program, connection } = this.#agentOr();
    program.kill(); // what it has started
    const isUnheard = !this.#isOpen && !this.#isEnding;
    connection.close(new Error(isUnheard ? `${how} before its session was open` : how));
    if (isUnheard || this.#isEnding) return;
    this.#isEnding = true;
    this.#sayAll(this.#updates.flush());
    this.#options.log([how, program.lastWords()].filter((part) => part !== "").join("\n"));
    this.#options.exit(1);
  }

  async #end(): Promise<void> {
    this.#isEnding = true;
    await this.#agent?.program.end();
    this.#options.exit(0);
  }

  #agentOr(): Running {
    if (!this.#agent) throw new Error("the agent has not been started");
    return this.#agent;
  }

  /** Tells the agent what waits, as soon as it takes it. */
  #work(): void {
    const turn = this.#turn;
    if (!this.#isOpen || this.#isEnding || this.#isSteering || this.#waiting.isEmpty) return;
    const { steering } = this.#agentOr().connection;
    if (turn && (steering === "none" || !turn.takesMore)) return;
    const batch = this.#takeQueue(turn === undefined);
    const parts = batch.flatMap(({ id, parts: own }) => [
      ...own,
      { type: "text" as const, text: markerOf(id) },
    ]);
    if (turn && steering === "request") return void this.#steer(parts, batch);
    const ids = batch.map(({ id }) => id);
    void this.#prompt(parts, ids);
  }

  /** All that waits, on record before the agent is told. */
  #takeQueue(beginsTurn: boolean): Delivery[] {
    const { say } = this.#options;
    const batch = this.#waiting.takeAll();
    if (beginsTurn) say({ type: "turn", cause: "message", ids: batch.map(({ id }) => id) });
    for (const { id, isTaken } of batch) if (!isTaken) say({ type: "taken", id }, true);
    return batch;
  }

  #goOn(text: string, ids: string[]): void {
    this.#options.say({ type: "turn", cause: "resume", ids });
    void this.#prompt([{ type: "text", text }], ids);
  }

  async #prompt(parts: ContentPart[], ids: readonly string[]): Promise<void> {
    this.#turn ??= new Turn();
    const turn = this.#turn;
    turn.begin(ids);
    this.#silence.begin();
    const outcome = await this.#agentOr()
      .connection.prompt(parts)
      .then(
        (result) => ({ result }),
        (error: Error) => ({ error: error.message }),
      );
    if (!turn.answer() || this.#isEnding) return;
    this.#endTurn(turn, outcome);
    this.#work();
  }

  /** Deliveries that the turn does not take wait for its end. They count as told: nobody knows how much of them the agent has. */
  async #steer(parts: ContentPart[], batch: Delivery[]): Promise<void> {
    const { say } = this.#options;
    const turn = this.#turn;
    this.#isSteering = true;
    const isIn = await this.#agentOr()
      .connection.steer(parts)
      .catch(() => false);
    this.#isSteering = false;
    if (this.#isEnding) return;
    const ids = batch.map(({ id }) => id);
    if (!isIn) {
      if (turn) turn.isFull = true;
      this.#waiting.putBack(batch);
    } else if (turn && turn === this.#turn) turn.ids.push(...ids);
    else say({ type: "end", ids, stopReason: "end_turn", durationMs: 0 }); // it was in the turn that has just ended
    this.#work();
  }

  #endTurn(turn: Turn, outcome: { result?: Prompted; error?: string }): void {
    turn.end();
    this.#silence.end();
    this.#turn = undefined;
    this.#asks.withdraw();
    this.#sayAll(this.#updates.end());
    const { ids, startedMs, isCancelled } = turn;
    const durationMs = Date.now() - startedMs;
    this.#options.say(endLine({ ids, durationMs, isCancelled }, outcome));
  }

  /** It hangs, or nobody answers it: its process is ended, and the next one goes on with the conversation. */
  async #silent(why: string): Promise<void> {
    const turn = this.#turn;
    if (!turn || this.#isEnding) return;
    this.#isEnding = true;
    const { program } = this.#agentOr();
    const error = [why, program.lastWords()].filter((part) => part !== "").join("\n");
    this.#endTurn(turn, { error });
    this.#options.log(error);
    await program.end();
    this.#options.exit(1);
  }

  #interrupt(seq: number): void {
    const turn = this.#turn;
    // Told too early, it is told again once there is something to stop.
    const isEarly = !turn && this.#waiting.isEmpty;
    if (isEarly || !this.#waiting.begins(seq)) return;
    if (!turn) {
      // The deliveries that would begin a turn now do not begin one.
      const ids = this.#takeQueue(true).map(({ id }) => id);
      this.#options.say({ type: "end", ids, stopReason: "cancelled", durationMs: 0 });
      return;
    }
    this.#agentOr().connection.cancel();
    this.#asks.withdraw();
    turn.cancel(this.#options.cancelMs, () => {
      this.#options.log("the agent went on after it was told to stop, and was ended");
      this.#agentOr().program.kill();
    });
  }

  async #setMode({ seq, modeId }: Extract<ToAdapter, { op: "mode" }>): Promise<void> {
    if (!this.#agent || !this.#waiting.begins(seq)) return;
    const { say } = this.#options;
    try {
      await this.#agent.connection.setMode(modeId);
      this.#modeId = modeId;
    } catch (error) {
      const title = `The agent did not take the mode ${modeId}`;
      say({ type: "notice", severity: "warning", title, description: (error as Error).message });
    }
    say({ type: "mode", modeId: this.#modeId, seq });
  }

  #handlers(): ConnectionHandlers {
    const { log } = this.#options;
    return {
      heard: () => this.#silence.heard(),
      update: (update) => this.#update(update),
      permission: (params, id) => this.#asks.ask(params, id, this.#agent?.connection.known),
      cancelled: (id) => this.#asks.withdraw(id),
      notice: (title, description) => this.#notice(title, description),
      log,
      broken: (message) => void this.#broken(message),
    };
  }

  async #broken(message: string): Promise<void> {
    const { program, connection } = this.#agentOr();
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#sayAll(this.#updates.flush());
    this.#sayFailed("engine_output", message, connection, program);
    program.kill();
    await program.ended;
    this.#options.exit(1);
  }

  /** Before the session is open it tells what `ready` says better. */
  #update(update: Update): void {
    if (!this.#isOpen) return;
    const lines = this.#updates.take(update);
    for (const line of lines) if (line.type === "mode") this.#modeId = line.modeId;
    this.#sayAll(lines);
    if (!update.sessionUpdate.endsWith("_chunk")) return;
    this.#liveTimer ??= setTimeout(() => {
      this.#liveTimer = undefined;
      const live = this.#updates.live();
      if (live && !this.#isEnding) this.#options.say(live);
    }, LIVE_MS);
  }

  /** Each once: an agent may give reason for it again and again. */
  #notice(title: string, description?: string): void {
    if (!this.#once.isNew(title)) return;
    this.#options.say({
      type: "notice",
      severity: "warning",
      title,
      ...(description !== undefined && { description }),
    });
  }

  #sayAll(lines: readonly FromAdapter[]): void {
    for (const line of lines) this.#options.say(line);
  }
}
