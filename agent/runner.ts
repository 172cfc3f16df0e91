/**
 * The runner's loop: read the inbox, read the engine, decide, act, and wait for the next change. It may be killed at
 * any instant: what it knows is in the files, and the next runner goes on from them.
 */

import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, statfsSync } from "node:fs";
import type { Writable } from "node:stream";
import type { ThreadConfig } from "../shared/agent/config.ts";
import type { EventBody } from "../shared/agent/events.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";
import { assertNever, errorText } from "../shared/errors.ts";
import { pause } from "../shared/lifecycle.ts";
import { contentOf } from "./content.ts";
import { closingEvents } from "./core/closing.ts";
import { type Action, decide, type EndManner, type EndReason, isIdle } from "./core/decide.ts";
import type { Conversation, Engine, EngineProblem, Env } from "./engine.ts";
import { EngineProcess, removeOldOutputs } from "./process/engine-process.ts";
import { killMarked } from "./process/orphans.ts";
import { Seat } from "./seat.ts";
import { seedText } from "./seed.ts";
import { type DaySpend, findDaySpend } from "./spend/day-spend.ts";
import { engineEnv, lastSessionId, planGeneration, planProcess } from "./start-engine.ts";
import { ThreadFiles } from "./thread-files.ts";
import { configOfLeave, eventsOfLeave, TrustGate } from "./trust/gate.ts";
import { TurnWatch } from "./turn-watch.ts";
import { undo } from "./undo/undo.ts";
import { Waker } from "./waker.ts";

export interface RunnerOptions {
  folder: string;
  config: ThreadConfig;
  engine: Engine;
  env: Env;
  /** The readable log. */
  pane: Writable;
}

const MIN_FREE_BYTES = 64 * 1024 * 1024;
const DISK_INTERVAL_MS = 5_000;
const GENTLE_END_MS = 3_000;

export class Runner {
  readonly #options: RunnerOptions;
  readonly #env: Env;
  readonly #thread: ThreadFiles;
  readonly #waker: Waker;
  readonly #trust: TrustGate;
  readonly #turns: TurnWatch;
  readonly #daySpend: DaySpend | undefined;
  #seat: Seat | undefined;
  #diskMs = 0;

  constructor(options: RunnerOptions) {
    const { folder, config, env, pane } = options;
    this.#options = options;
    this.#env = engineEnv(env, config.threadId, folder);
    this.#thread = new ThreadFiles(folder, config, pane);
    this.#waker = new Waker(folder);
    this.#trust = new TrustGate(options);
    this.#turns = new TurnWatch(options, this.#thread);
    this.#daySpend = findDaySpend(env, config.threadId);
  }

  get #fold(): ThreadFold {
    return this.#thread.fold;
  }

  /** Ends when there is nothing to do before the inbox has a new line. */
  async run(): Promise<void> {
    try {
      await this.#loop();
    } catch (error) {
      // Without disk or folder no runner can follow: the engine must not work on unseen.
      const isLost = (error as NodeJS.ErrnoException).code === "ENOSPC" || !existsSync(this.#options.folder);
      if (isLost) await killMarked(this.#options.folder);
      throw error;
    }
  }

  async #loop(): Promise<void> {
    await this.#attach();
    for (;;) {
      const isNew = this.#thread.readInbox() || (await this.#readEngine());
      if (this.#seat && !this.#seat.process.isAlive) await this.#closeSeat(this.#seat.end ?? "crashed");
      this.#checkDisk();
      this.#seat?.lookAtCalls(Date.now());
      const actions = decide(
        this.#fold,
        this.#seat,
        this.#options.config,
        Date.now(),
        this.#daySpend?.settle(this.#fold, new Date()),
      );
      for (const action of actions) {
        if (action.do !== "exit") await this.#act(action);
        else if (!isNew) return await this.#close(); // there may be more lines than one look gives
      }
      const isLate = this.#writeNotes();
      if (!isNew && actions.length === 0) await this.#waker.wait(this.#waitMs(isLate));
    }
  }

  /** Takes over the engine that another runner started, alive or dead, and reads all that it wrote. */
  async #attach(): Promise<void> {
    const { folder, engine } = this.#options;
    const generation = newestGeneration(folder);
    if (generation <= this.#fold.endedGeneration) return;
    const process = EngineProcess.attach(folder, generation);
    const launch = this.#thread.lastLaunch;
    if (launch?.generation !== generation) {
      // Nothing says what it was started for: it ends, and a new one does its work.
      await process.kill();
      process.close();
      return;
    }
    this.#seat = new Seat(engine, launch, process, this.#env, Date.now());
    while (await this.#readEngine()) this.#writeNotes();
    if (!this.#seat.state.isOpen) this.#seat.send("open", engine.open(), Date.now());
  }

  async #readEngine(): Promise<boolean> {
    const seat = this.#seat;
    if (!seat) return false;
    seat.process.flush();
    const { generation } = seat.launch;
    const lines = seat.process.output.read();
    for (const line of lines) {
      let bodies: EventBody[];
      try {
        bodies = seat.translate(line, {
          fold: this.#fold,
          launch: seat.launch,
          config: this.#options.config,
          nowMs: Date.now(),
        });
      } catch (error) {
        bodies = this.#unreadable(line.text, error, seat);
      }
      await this.#turns.append({ from: "engine", generation, byte: line.byte }, bodies);
    }
    if (!isIdle(this.#fold, seat)) seat.idleSinceMs = Date.now();
    return lines.length > 0;
  }

  /** A living engine that says what we can't read is ended; of a dead one the rest is read. */
  #unreadable(text: string, error: unknown, seat: Seat): EventBody[] {
    const description = `${errorText(error).slice(0, 500)}: ${text.slice(0, 500)}`;
    const title = "A line of the engine's output can't be read";
    const notice: EventBody = { type: "notice", severity: "error", title, description };
    if (seat.isEnding || !seat.process.isAlive) return [notice];
    return [notice, { type: "failure", code: "engine_output", message: `${title}.` }];
  }

  async #act(action: Exclude<Action, { do: "exit" }>): Promise<void> {
    const { engine } = this.#options;
    const seat = this.#seat;
    if (action.do === "append") return this.#turns.append(null, action.bodies);
    if (action.do === "start") return this.#start();
    if (action.do === "close")
      return this.#turns.append(null, this.#closing(this.#fold.isKilled ? "killed" : "crashed"));
    if (action.do === "undo") {
      return void this.#thread.append(null, [await undo(action.control, this.#fold, this.#options)]);
    }
    if (!seat) return;
    const nowMs = Date.now();
    switch (action.do) {
      case "end":
        return this.#end(seat, action.reason, action.how);
      case "hook":
        await this.#turns.hook(action.request);
        return seat.send(action.key, engine.letHookGoOn(action.request.requestId), nowMs);
      case "refuse":
        return seat.send(action.key, engine.refuse(action.request.requestId), nowMs);
      case "answer": {
        await this.#turns.answer(action.request, action.answer);
        const asked = seat.process.output.textAt(action.request.byte, action.request.bytes);
        return seat.send(action.key, engine.answer(action.answer, action.request, asked), nowMs);
      }
      case "control":
        return seat.send(action.key, engine.control(action.control), nowMs);
      case "note": {
        const messageIds = action.messages.map(({ messageId }) => messageId);
        this.#thread.append(null, [{ type: "delivery", deliveryId: randomUUID(), messageIds }]);
        return;
      }
      case "deliver":
        return this.#deliver(seat, action);
      default:
        return assertNever(action);
    }
  }

  /** The delivery is on the disk before the engine has it. */
  async #deliver(
    seat: Seat,
    { key, deliveryId, messages }: Extract<Action, { do: "deliver" }>,
  ): Promise<void> {
    const { folder, engine } = this.#options;
    const { parts, problems } = contentOf(messages, folder, (sha256) => this.#thread.readBlob(sha256));
    if (seat.launch.reseeded && this.#fold.engine?.takenCount === 0) {
      const seed = seedText(this.#thread.said());
      if (seed !== "") parts.unshift({ type: "text", text: seed });
    }
    const { undone = [] } = this.#fold.deliveries.find((open) => open.deliveryId === deliveryId) ?? {};
    parts.unshift(...undone.map((text) => ({ type: "text" as const, text })));
    for (const title of problems) this.#thread.append(null, [{ type: "notice", severity: "warning", title }]);
    if (!seat.state.isBusy) await this.#turns.begin();
    this.#thread.sync();
    const isPlain = messages.some(({ plain }) => plain);
    seat.send(key, engine.deliver(deliveryId, parts, isPlain), Date.now());
  }

  async #start(): Promise<void> {
    const { folder, config, engine } = this.#options;
    const leave = this.#trust.look(this.#fold);
    const said = eventsOfLeave(leave, this.#fold);
    if (leave.isTrusted === undefined) return void this.#thread.append(null, said);
    const fold = this.#fold;
    const sessionId = lastSessionId(fold, this.#thread.lastLaunch, config);
    const conversation = await this.#lookAtConversation(sessionId);
    const generation = Math.max(newestGeneration(folder), fold.endedGeneration) + 1;
    const { launch, events } = planGeneration(fold, generation, sessionId, conversation, new Date());
    // A program that is too old takes a cut-off turn up as soon as it runs, and does its calls again.
    const early = launch.takesUp ? await this.#check() : undefined;
    if (early) return this.#discard(early);
    if (!this.#trust.isUnchanged(leave)) return; // it was changed in these moments: once more from the beginning
    this.#thread.append(null, [...said, ...events]);
    // Noted before it runs: a runner that finds the process must know what it was started for.
    this.#thread.noteLaunch(launch);
    const trusted = configOfLeave(config, leave);
    const plan = planProcess(engine, { config: trusted, launch, fold: this.#fold, env: this.#env, folder });
    // While a delivery is open, an older output may tell that it was taken.
    if (fold.deliveries.length === 0) removeOldOutputs(folder, generation);
    const process = EngineProcess.start(folder, generation, plan, () => this.#waker.wake());
    this.#seat = new Seat(engine, launch, process, this.#env, Date.now());
    // Any other does nothing before it is told, and it is told once it is known to be good: it comes up meanwhile.
    const problem = launch.takesUp ? undefined : await this.#check();
    // What it has loaded may be what nobody has looked at: it is told nothing.
    if (problem || !this.#trust.isUnchanged(leave)) return this.#discard(problem);
    this.#seat.send("open", engine.open(), Date.now());
  }

  /** Its process is no engine's, so it lacks the engine's marker. */
  #check(): Promise<EngineProblem | undefined> {
    const { engine, config, env } = this.#options;
    return engine.check(config, env);
  }

  /** It was never our engine: what it may have printed meanwhile tells nothing. */
  async #discard(problem: EngineProblem | undefined): Promise<void> {
    if (problem) this.#thread.append(null, [{ type: "failure", ...problem }]);
    const seat = this.#seat;
    if (!seat) return;
    await seat.process.kill();
    seat.close();
    seat.process.removeOutput();
    this.#seat = undefined;
  }

  /** The old engine is gone before its file is read. */
  async #lookAtConversation(sessionId: string | undefined): Promise<Conversation> {
    await killMarked(this.#options.folder);
    if (sessionId === undefined) return { exists: false, delivered: new Set() };
    const deliveryIds = this.#fold.deliveries.map(({ deliveryId }) => deliveryId);
    const lastAt = this.#fold.engine?.lastAt;
    return this.#options.engine.look(sessionId, { deliveryIds, lastAt }, this.#env);
  }

  async #end(seat: Seat, reason: EndReason, how: EndManner): Promise<void> {
    seat.tellToEnd(reason);
    if (how !== "crash") {
      if (how === "gentle") seat.process.send(this.#options.engine.control({ op: "end" }));
      else seat.process.terminate();
      const deadline = Date.now() + GENTLE_END_MS;
      while (seat.process.isAlive && Date.now() < deadline) await pause(10);
    }
    await seat.process.kill();
    await this.#closeSeat(reason);
  }

  /** The engine is dead: what it wrote is read to the end, and nothing of its work stays open. */
  async #closeSeat(reason: EndReason): Promise<void> {
    const seat = this.#seat;
    if (!seat) return;
    seat.tellToEnd(reason);
    await killMarked(this.#options.folder);
    while (await this.#readEngine()) this.#writeNotes();
    await this.#turns.append(null, this.#closing(reason));
    seat.close();
    this.#seat = undefined;
    this.#thread.noteEnd();
  }

  #closing(reason: EndReason): EventBody[] {
    const process = this.#seat?.process;
    const generation = process?.generation ?? this.#fold.engine?.generation ?? 0;
    const error = reason === "crashed" || reason === "error" ? process?.lastWords() : undefined;
    return closingEvents(
      this.#fold,
      {
        generation,
        reason,
        ...(process?.exit && { exitCode: process.exit.code, signal: process.exit.signal }),
        ...(error && { error }),
      },
      Date.now(),
      this.#seat?.state.chat,
    );
  }

  #checkDisk(): void {
    const { folder } = this.#options;
    const nowMs = Date.now();
    if (!this.#seat || this.#fold.failure?.code === "disk_full" || nowMs - this.#diskMs < DISK_INTERVAL_MS)
      return;
    this.#diskMs = nowMs;
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize >= MIN_FREE_BYTES) return;
    const message = `Less than 64 MiB of disk are free at ${folder}. Make room, then go on.`;
    this.#thread.append(null, [{ type: "failure", code: "disk_full", message }]);
  }

  /** @returns whether live.json waits for its time */
  #writeNotes(): boolean {
    return this.#thread.writeNotes(this.#seat);
  }

  #waitMs(isLate: boolean): number {
    if (this.#seat?.process.isBlocked) return 5;
    if (this.#seat && this.#seat.held.size > 0) return 10;
    if (isLate) return 100;
    return this.#seat?.state.isBusy ? 200 : 1_000;
  }

  async #close(): Promise<void> {
    if (this.#fold.isKilled) await killMarked(this.#options.folder);
    this.#waker.close();
    this.#thread.close();
  }
}

/** Of the newest FIFO or output; 0 if the engine was never started. */
function newestGeneration(folder: string): number {
  const found = readdirSync(folder).map((name) => /^(?:stdin\.(\d+)|engine\.(\d+)\.jsonl)$/.exec(name));
  return Math.max(0, ...found.map((match) => Number(match?.[1] ?? match?.[2] ?? 0)));
}
