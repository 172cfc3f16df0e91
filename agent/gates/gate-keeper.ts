/**
 * The gates of a thread: what comes to one waits until somebody has decided. Called once a round of the runner's loop,
 * it looks and never waits. What was asked and decided is in the transcript, so a runner that comes after goes on.
 */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { GateEntry, ThreadFold } from "../../shared/agent/fold-types.ts";
import { deciderOf, noOf, timeoutOf } from "../../shared/agent/gates.ts";
import type { ReachedLimit } from "../../shared/agent/limits.ts";
import { ENGINE_FOLDER_MARKER, GATE_MARKER } from "../../shared/agent/markers.ts";
import {
  afterFailureEvents,
  boundedOutcome,
  decision,
  expired,
  gateRequest,
  interruptBy,
  takeOver,
  timedOut,
  toldOf,
  withdrawn,
} from "../core/gate-events.ts";
import { askAtLimit } from "../core/gate-limit.ts";
import { countedGates, entryOf, type GateWant, gateWants, type Look } from "../core/gate-wants.ts";
import type { Env, Launch } from "../engine.ts";
import { lockPathOf } from "../locks/lock-path.ts";
import { killMarked, listMarked, signal } from "../process/orphans.ts";
import type { Command } from "../process/sandbox.ts";
import type { Seat } from "../seat.ts";
import { GateCommand, type GateCommandEnd } from "./gate-command.ts";
import { writeReviews } from "./review-file.ts";

export interface GateKeeperOptions {
  folder: string;
  config: ThreadConfig;
  /** The engine's environment. */
  env: Env;
  keep: (command: Command) => Command;
  /** A command has ended. */
  onChange: () => void;
}

/** Longest time limit of a person's gate for which a runner without an engine stays, in seconds. */
const MAX_STAY_SECONDS = 3_600;

interface Log {
  readonly fold: ThreadFold;
  readonly lastLaunch: Launch | undefined;
  append(source: null, bodies: readonly EventBody[]): void;
}

export class GateKeeper {
  readonly #options: GateKeeperOptions;
  readonly #log: Log;
  /** The commands that run, by the request that they decide on. */
  readonly #commands = new Map<string, GateCommand>();
  /** Requests whose command a signal has ended; each command is run once more. */
  readonly #again = new Set<string>();
  /** The gate at a limit that was asked about last. */
  #atLimit: GateWant | undefined;
  #waitingCount = 0;

  constructor(options: GateKeeperOptions, log: Log) {
    this.#options = options;
    this.#log = log;
    // A runner that was killed has left them running: they are run anew.
    if (log.fold.gates) this.#endLeft();
  }

  /**
   * True while a command or a directive decides, or while a person's time limit of at most an hour runs. The runner
   * stays then.
   */
  get isBusy(): boolean {
    if (this.#commands.size > 0) return true;
    const open = (this.#fold.gates?.entries ?? []).filter(({ outcome }) => outcome === undefined);
    const seconds = (entry: GateEntry) => this.#secondsFor(entry) ?? Number.POSITIVE_INFINITY;
    return open.some((entry) => entry.by === "directive" || seconds(entry) <= MAX_STAY_SECONDS);
  }

  get #fold(): ThreadFold {
    return this.#log.fold;
  }

  /** Holds what waits, stops what may not go on, and asks. */
  look(seat: Seat | undefined, nowMs: number): void {
    this.#drop();
    if (!this.#fold.gates) return;
    const wants = gateWants(this.#lookOf(seat), seat);
    if (this.#atLimit) wants.push(this.#atLimit);
    this.#withdraw(wants, seat, nowMs);
    const waiting = new Set<string>();
    for (const want of wants) {
      // If a call meets several gates, each is asked once the one before has let it go on.
      if (!waiting.has(want.waits) && !this.#settle(want, seat, nowMs)) waiting.add(want.waits);
    }
    this.#waitingCount = waiting.size;
    this.#interrupt();
  }

  /** The text that the hook after a round of calls gives the model before it goes on. */
  newsFor(requestId: string): string | undefined {
    const told = (this.#fold.gates?.entries ?? [])
      .filter(({ waits, outcome }) => waits === requestId && (outcome === "retry" || outcome === "fail"))
      .map(toldOf);
    return told.length === 0 ? undefined : told.join("\n\n");
  }

  /** The number of the engine's requests that are held. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** @returns what is written if a limit is reached now; empty while a command decides whether a person is asked. */
  beginLook(): ((reached: ReachedLimit) => EventBody[]) | undefined {
    this.#atLimit = undefined;
    if (!this.#fold.gates) return undefined;
    const gates = countedGates(this.#options.config, this.#log.lastLaunch);
    return (reached) => {
      const { want, bodies } = askAtLimit(this.#fold, gates, reached);
      this.#atLimit = want;
      return bodies;
    };
  }

  /** Kills the commands as the runner ends. Resolves when no process of theirs is left. */
  async close(): Promise<void> {
    for (const command of this.#commands.values()) command.kill();
    this.#commands.clear();
    if (this.#fold.gates) await killMarked(this.#options.folder, GATE_MARKER);
  }

  #endLeft(): void {
    for (const pid of listMarked(this.#options.folder, GATE_MARKER)) signal(pid, "SIGKILL");
  }

  #lookOf(seat: Seat | undefined): Look {
    const { config, env } = this.#options;
    const home = env["HOME"] ?? "/";
    return {
      fold: this.#fold,
      gates: countedGates(config, this.#log.lastLaunch),
      callOf: (request) => seat?.session.callOf?.(request),
      place: { dir: config.dir, real: (path) => lockPathOf(path, config.dir, home) },
    };
  }

  /** @returns whether it may go on */
  #settle(want: GateWant, seat: Seat | undefined, nowMs: number): boolean {
    const entry = entryOf(this.#fold, want);
    const { requestId } = want;
    if (entry?.outcome !== undefined && entry.waits !== want.waits) {
      this.#log.append(null, takeOver(this.#fold, want, entry));
      return this.#settle(want, seat, nowMs);
    }
    if (!entry || this.#isOfAnother(entry, want)) {
      this.#ask(want, gateRequest(this.#fold, want, { old: entry?.requestId, attempt: 1 }));
      if (requestId !== undefined) seat?.held.add(requestId);
      return false;
    }
    if (entry.outcome === undefined) {
      if (requestId !== undefined) seat?.held.add(requestId);
      this.#wait(want, entry, nowMs);
      const decided = entryOf(this.#fold, want);
      // The decision takes effect at once, because a runner without work may end before it looks again.
      if (want.gate.at === "on_error" && requestId === undefined && decided?.outcome !== undefined)
        this.#afterFailure(want, decided);
      return false;
    }
    if (entry.outcome === "continue") return true;
    if (want.gate.at === "on_error" && requestId === undefined) this.#afterFailure(want, entry);
    if (requestId === undefined || !seat) return false;
    const isToldLater = want.gate.at === "after_step" || want.gate.at === "on_error";
    if (entry.outcome === "abort") seat.held.add(requestId);
    else if (want.gate.at === "before_step" || entry.outcome === "retry") {
      if (!isToldLater) seat.refused.set(requestId, toldOf(entry));
    }
    return isToldLater;
  }

  /** A process that is gone has asked, and nobody has decided: the call that waits now is asked about in its place. */
  #isOfAnother(entry: GateEntry, want: GateWant): boolean {
    return entry.outcome === undefined && entry.waits !== want.waits;
  }

  #wait(want: GateWant, entry: GateEntry, nowMs: number): void {
    const { requestId } = entry;
    const ask = this.#fold.asks.find((one) => one.requestId === requestId);
    const decider = deciderOf(want.gate);
    const command = this.#commands.get(requestId);
    if (decider.is === "command") {
      if (command) this.#ended(want, entry, command);
      else this.#run(want, entry, decider.command);
      return;
    }
    if (this.#isLate(entry, nowMs)) this.#ask(want, timedOut(this.#fold, want, entry, ask));
  }

  #ask(want: GateWant, bodies: readonly EventBody[]): void {
    writeReviews(this.#options.folder, want, bodies);
    this.#log.append(null, bodies);
  }

  #secondsFor({ gate: index }: GateEntry): number | undefined {
    const gate = countedGates(this.#options.config, this.#log.lastLaunch).find((one) => one.index === index);
    return gate && this.#secondsOf({ gate });
  }

  #isLate(entry: GateEntry, nowMs: number): boolean {
    const seconds = this.#secondsFor(entry);
    return seconds !== undefined && nowMs - Date.parse(entry.askedAt) > seconds * 1_000;
  }

  /** A person has no longer than for any other ask. */
  #secondsOf({ gate }: Pick<GateWant, "gate">): number | undefined {
    const { askTimeoutSeconds } = this.#options.config.timeouts;
    const own = timeoutOf(gate);
    if (gate.by !== "person" || askTimeoutSeconds === undefined) return own;
    return Math.min(own ?? askTimeoutSeconds, askTimeoutSeconds);
  }

  #run(want: GateWant, { requestId, callKey }: GateEntry, command: string): void {
    const { config, env, keep, onChange, folder } = this.#options;
    const { gate, toolName, input, title } = want;
    const { prompt } = gate;
    const told = { requestId, hash: callKey, at: gate.at, title, tool: toolName, input, prompt };
    // Without the engine's marker, the command survives when the engine and its processes are killed.
    const { [ENGINE_FOLDER_MARKER]: _, ...rest } = env;
    this.#commands.set(
      requestId,
      new GateCommand({
        ...{ command, keep, onEnd: onChange, dir: config.dir },
        env: { ...rest, [GATE_MARKER]: folder },
        input: JSON.stringify({ ...told, threadId: config.threadId, dir: config.dir }),
        timeoutSeconds: timeoutOf(gate) ?? 0,
      }),
    );
  }

  #ended(want: GateWant, entry: GateEntry, { end }: GateCommand): void {
    if (end === undefined) return;
    this.#commands.delete(entry.requestId);
    // Processes that it left outside its group can't be told from another command's, so they are killed once none runs.
    if (this.#commands.size === 0) this.#endLeft();
    if (end === "killed" && !this.#again.has(entry.requestId)) {
      this.#again.add(entry.requestId);
      this.#wait(want, entry, Date.now());
      return;
    }
    this.#log.append(null, this.#decided(want, entry, end));
  }

  #decided(want: GateWant, entry: GateEntry, end: GateCommandEnd): EventBody[] {
    if (end === "timeout") return timedOut(this.#fold, want, entry);
    const { code, words } =
      end === "killed" ? { code: null, words: "A signal ended its command twice." } : end;
    const outcome = code === 0 ? "continue" : boundedOutcome(this.#fold, noOf(want.gate));
    const why = words.trim() === "" ? `exit code ${code ?? "none"}` : words;
    return decision(entry, outcome, code === 0 ? words : why);
  }

  /** Once: what it comes to ends the wait. */
  #afterFailure(want: GateWant, entry: GateEntry): void {
    const isDone = entry.outcome === "fail" && this.#fold.failure?.message === entry.text;
    const bodies = isDone ? [] : afterFailureEvents(entry);
    if (bodies.length > 0 && want.gate.at === "on_error") this.#log.append(null, bodies);
  }

  /** Ends the commands whose requests have left the fold: the engine's end or the turn's has withdrawn them. */
  #drop(): void {
    const { entries = [] } = this.#fold.gates ?? {};
    for (const [id, command] of this.#commands) {
      if (entries.some(({ requestId, outcome }) => requestId === id && outcome === undefined)) continue;
      command.kill();
      this.#commands.delete(id);
    }
  }

  /** Withdraws requests that nothing waits for any more: the call was withdrawn, or the engine has ended. */
  #withdraw(wants: readonly GateWant[], seat: Seat | undefined, nowMs: number): void {
    for (const entry of this.#fold.gates?.entries ?? []) {
      const isWanted = wants.some((want) => entryOf(this.#fold, want)?.requestId === entry.requestId);
      const ask = this.#fold.asks.find((one) => one.requestId === entry.requestId);
      const isParked =
        ask !== undefined && !entry.isAfterTurn && entry.generation !== seat?.launch.generation;
      if (isWanted || entry.outcome !== undefined) continue;
      // The process that asked is gone, so a request whose time is over is not asked again.
      if (isParked && this.#isLate(entry, nowMs)) this.#log.append(null, expired(entry, ask));
      if (isParked) continue;
      // A call that the engine has not saved yet still waits.
      if (seat && [...seat.held].some((id) => seat.state.requests[id]?.toolCallId === entry.waits)) continue;
      this.#commands.get(entry.requestId)?.kill();
      this.#commands.delete(entry.requestId);
      this.#log.append(null, withdrawn(entry, ask));
    }
  }

  #interrupt(): void {
    const { turn, pending, gates } = this.#fold;
    if (turn === null || pending.interrupt !== null) return;
    const abort = gates?.entries.find(({ outcome, isAfterTurn }) => outcome === "abort" && !isAfterTurn);
    if (abort) this.#log.append(null, [interruptBy(abort)]);
  }
}
