/**
 * The runner's loop: read the inbox, read the engine, decide, act, and wait for the next change. It may be killed at
 * any instant: what it knows is in the files, and the next runner goes on from them.
 */

import { randomUUID } from "node:crypto";
import { existsSync, statfsSync } from "node:fs";
import type { Writable } from "node:stream";
import type { ThreadConfig } from "../shared/agent/config.ts";
import { expandsNothing, isForeign } from "../shared/agent/fold-messages.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";
import { assertNever } from "../shared/errors.ts";
import { contentOf } from "./content.ts";
import { asideBodies } from "./core/aside.ts";
import { type Action, decide } from "./core/decide.ts";
import type { Engine, Env, OpenRequest } from "./engine.ts";
import { EngineLife } from "./engine-life.ts";
import { stateOfFiles } from "./folder/state-of-files.ts";
import { GateKeeper } from "./gates/gate-keeper.ts";
import { LOOK_INTERVAL_MS, LockKeeper } from "./locks/lock-keeper.ts";
import { lockPathOf } from "./locks/lock-path.ts";
import { mayCarryMemory, memoryFor } from "./memory.ts";
import { Board } from "./others/board.ts";
import { OthersWatch } from "./others/watch.ts";
import { PlaceKeeper } from "./places/place-keeper.ts";
import { beginSpareFifo, keepSpareFifo } from "./process/fifo.ts";
import { killMarked } from "./process/orphans.ts";
import { recentEvents } from "./recent-events.ts";
import type { Seat } from "./seat.ts";
import { seedText } from "./seed.ts";
import { settleCalls } from "./spend/call-room.ts";
import { type DaySpend, findDaySpend } from "./spend/day-spend.ts";
import { engineEnv, isFresh, keeperOf } from "./start-engine.ts";
import { ThreadFiles } from "./thread-files.ts";
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

export class Runner {
  readonly #options: RunnerOptions;
  readonly #thread: ThreadFiles;
  readonly #waker: Waker;
  readonly #turns: TurnWatch;
  readonly #life: EngineLife;
  readonly #daySpend: DaySpend | undefined;
  readonly #locks: LockKeeper;
  readonly #board: Board;
  readonly #others: OthersWatch;
  readonly #places: PlaceKeeper;
  readonly #gates: GateKeeper;
  #diskMs = 0;
  /** Its next call waits until others' calls have been counted. */
  #isHeld = false;

  constructor(options: RunnerOptions) {
    const { folder, config, env, pane } = options;
    this.#options = options;
    const spareFifo = beginSpareFifo(folder);
    this.#thread = new ThreadFiles(folder, config, pane);
    this.#waker = new Waker(folder);
    this.#turns = new TurnWatch(options, this.#thread);
    const [thread, turns, onChange] = [this.#thread, this.#turns, () => this.#waker.wake()];
    this.#life = new EngineLife({ ...options, thread, turns, onChange, spareFifo });
    this.#locks = new LockKeeper(options, this.#thread);
    this.#board = new Board(options);
    this.#others = new OthersWatch(options, this.#board);
    this.#places = new PlaceKeeper(options, this.#thread, onChange);
    this.#daySpend = findDaySpend(env, config);
    const ofEngine = { env: engineEnv(env, config.threadId, folder), keep: keeperOf(config, env, folder) };
    this.#gates = new GateKeeper({ folder, config, ...ofEngine, onChange }, this.#thread);
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
      if (isLost) await this.#gates.close();
      throw error;
    }
  }

  async #loop(): Promise<void> {
    await this.#life.attach();
    for (;;) {
      const isNew = this.#thread.readInbox() || (await this.#life.read());
      const { seat } = this.#life;
      if (seat && !seat.process.isAlive)
        await this.#life.close(seat.end ?? (this.#fold.isKilled ? "killed" : "crashed"));
      this.#checkDisk();
      this.#life.seat?.lookAtCalls(Date.now());
      this.#gates.look(this.#life.seat, Date.now());
      this.#locks.look(this.#life.seat, Date.now());
      this.#putAside(this.#life.seat);
      const day = this.#daySpend?.settle(this.#fold, new Date());
      this.#places.look(this.#life.seat, Date.now(), day);
      const actions = decide(this.#fold, this.#life.seat, this.#options.config, Date.now(), {
        day,
        isQueued: this.#places.isQueued,
        isFarBack: this.#places.isFarBack,
        mayCall: this.#mayCall(),
        limitAsked: this.#gates.beginLook(),
      });
      for (const action of actions) {
        if (action.do !== "exit") await this.#act(action);
        else if (!isNew && !this.#gates.isBusy) return await this.#close(); // there may be more lines than one look gives
      }
      const isLate = this.#writeNotes();
      // A runner that may not exit yet waits here too: a gate's command goes on without an engine.
      const isDone = actions.every((action) => action.do === "exit");
      if (!isNew && isDone) await this.#waker.wait(this.#waitMs(isLate));
    }
  }

  #putAside(seat: Seat | undefined): void {
    if (!seat) return;
    const callOf = (request: OpenRequest) => seat.session.callOf?.(request);
    const { config, env } = this.#options;
    const placed = (path: string) => lockPathOf(path, config.dir, env["HOME"] ?? "/");
    const stateOf = (paths: readonly string[]) => stateOfFiles(paths.map(placed));
    const look = { fold: this.#fold, agent: config.agent, callOf, stateOf, nowMs: Date.now() };
    const bodies = asideBodies(look, seat);
    if (bodies.length > 0) this.#thread.append(null, bodies);
  }

  /** Who waits for a place needs no room for a call yet. */
  #mayCall(): boolean {
    const { seat } = this.#life;
    this.#isHeld =
      !this.#places.isQueued &&
      !settleCalls(this.#daySpend, this.#fold, seat, this.#options.folder, new Date());
    return !this.#isHeld;
  }

  async #act(action: Exclude<Action, { do: "exit" }>): Promise<void> {
    const seat = this.#life.seat;
    if (action.do === "append") return this.#turns.append(null, action.bodies);
    if (action.do === "start") return this.#life.start();
    if (action.do === "close")
      return this.#turns.append(null, this.#life.closing(this.#fold.isKilled ? "killed" : "crashed"));
    if (action.do === "undo") {
      await this.#turns.settle();
      return void this.#thread.append(null, [await undo(action.control, this.#fold, this.#options)]);
    }
    if (!seat) return;
    const nowMs = Date.now();
    switch (action.do) {
      case "end":
        return this.#life.end(action.reason, action.how);
      case "hook":
        return this.#letHookGoOn(seat, action);
      case "stop":
        return seat.send(
          action.key,
          seat.session.answer(action.request, { reply: "stop", reason: action.reason }),
          nowMs,
        );
      case "refuse":
        return seat.send(action.key, seat.session.answer(action.request, { reply: "unknown" }), nowMs);
      case "answer": {
        await this.#turns.answer(action.request, action.answer);
        if (action.request.call) this.#others.beforeCall(action.request.call);
        return seat.send(action.key, seat.session.answer(action.request, action.answer), nowMs);
      }
      case "control":
        return seat.send(action.key, seat.session.control(action.control), nowMs);
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

  async #letHookGoOn(seat: Seat, { key, request }: Extract<Action, { do: "hook" }>): Promise<void> {
    const { requestId, call, isAfterCalls, isAfterCompaction, isSubagent } = request;
    await this.#turns.hook(request);
    if (call?.side === "before") this.#others.beforeCall(call);
    if (call?.side === "after") this.#others.afterCall(call);
    const isOwnRound = isAfterCalls && !isSubagent;
    const news = isOwnRound ? this.#others.takeNews(requestId) : undefined;
    if (news) this.#thread.append(null, news.events);
    const mayTell = isOwnRound || isAfterCompaction;
    const memory = mayTell ? this.#takeMemory(seat, requestId, isAfterCompaction) : undefined;
    // Before a call's result is in the transcript: a runner that comes after a kill must not take the call's own change
    // for somebody else's.
    if (call?.side === "after" || isAfterCalls) this.#others.save();
    const atGates = this.#gates.newsFor(requestId);
    const told = [memory, atGates, news?.text].filter((text) => text !== undefined).join("\n\n");
    const answer = { reply: "go_on" as const, news: told === "" ? undefined : told };
    seat.send(key, seat.session.answer(request, answer), Date.now());
  }

  /**
   * The transcript says that the model is told it before it is.
   * @param isShortened the engine has made the conversation shorter, and the event that ends this comes later
   */
  #takeMemory({ launch }: Seat, carrier: string, isShortened = false): string | undefined {
    const { compactingSeq } = this.#fold;
    const fold = isShortened && compactingSeq ? { ...this.#fold, compactedSeq: compactingSeq } : this.#fold;
    const memory = memoryFor(fold, this.#options.config, launch, carrier);
    if (memory) this.#thread.append(null, [memory.event]);
    return memory?.text;
  }

  /** The delivery is on the disk before the engine has it. */
  async #deliver(
    seat: Seat,
    { key, deliveryId, messages }: Extract<Action, { do: "deliver" }>,
  ): Promise<void> {
    const { folder } = this.#options;
    const { parts, problems } = contentOf(messages, folder, (sha256) => this.#thread.readBlob(sha256));
    const seed = this.#seedFor(seat);
    if (seed !== "") parts.unshift({ type: "text", text: seed });
    const memory = mayCarryMemory(messages) ? this.#takeMemory(seat, deliveryId) : undefined;
    if (memory !== undefined) parts.unshift({ type: "text", text: memory });
    const { undone = [] } = this.#fold.deliveries.find((open) => open.deliveryId === deliveryId) ?? {};
    parts.unshift(...undone.map((text) => ({ type: "text" as const, text })));
    for (const title of problems) this.#thread.append(null, [{ type: "notice", severity: "warning", title }]);
    const isMidTurn = seat.state.isBusy;
    if (!isMidTurn) await this.#turns.begin();
    this.#thread.sync();
    // What was said once is no wish of now: an @path in it gets no file into the conversation.
    const isPlain = seed !== "" || memory !== undefined || messages.some(expandsNothing);
    const marks = { isPlain, isForeign: messages.some(isForeign), isMidTurn };
    seat.send(key, seat.session.deliver(deliveryId, parts, marks), Date.now());
  }

  /** What stands before the first message of a new conversation; empty if there is nothing to tell. */
  #seedFor({ launch }: Seat): string {
    if (!launch.reseeded || this.#fold.engine?.takenCount !== 0) return "";
    const { dir, handedOver } = this.#options.config;
    const begins = this.#fold.hasInitialMessages ? "initial" : "origin";
    if (isFresh(this.#fold)) return seedText(this.#thread.history(), begins);
    const moved = launch.anew === "handed_over" && handedOver && { from: handedOver.from, to: dir };
    return seedText(recentEvents(this.#thread), launch.anew ?? "lost", moved || undefined);
  }

  #checkDisk(): void {
    const { folder } = this.#options;
    const nowMs = Date.now();
    if (
      !this.#life.seat ||
      this.#fold.failure?.code === "disk_full" ||
      nowMs - this.#diskMs < DISK_INTERVAL_MS
    )
      return;
    this.#diskMs = nowMs;
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize >= MIN_FREE_BYTES) return;
    const message = `Less than 64 MiB of disk are free at ${folder}. Make room, then go on.`;
    this.#thread.append(null, [{ type: "failure", code: "disk_full", message }]);
  }

  /** @returns whether live.json waits for its time */
  #writeNotes(): boolean {
    const isBoardLate = this.#board.tell(this.#fold, this.#locks.heldPaths, Date.now());
    return this.#thread.writeNotes(this.#life.seat) || isBoardLate;
  }

  #waitMs(isLate: boolean): number {
    if (this.#life.seat?.process.isBlocked) return 5;
    const waiting = this.#locks.waitingCount + this.#gates.waitingCount;
    if (this.#life.seat && this.#life.seat.held.size > waiting) return 10;
    if (this.#locks.waitingCount > 0) return LOOK_INTERVAL_MS;
    // Not all at once: of two that take the last room at the same time, neither has it.
    if (this.#isHeld) return 50 + 100 * Math.random();
    if (isLate) return 100;
    return this.#life.seat?.state.isBusy ? 200 : 1_000;
  }

  async #close(): Promise<void> {
    if (this.#fold.isKilled) await killMarked(this.#options.folder);
    else keepSpareFifo(this.#options.folder);
    this.#locks.close();
    this.#board.close();
    this.#places.close();
    await this.#gates.close();
    this.#waker.close();
    this.#thread.close();
  }
}
