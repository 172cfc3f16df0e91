/** The engine's life under this runner: taken over or started, read, ended. It stands in at most one {@link Seat}. */

import { existsSync, readdirSync } from "node:fs";
import type { ThreadConfig } from "../shared/agent/config.ts";
import type { EventBody } from "../shared/agent/events.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";
import type { Line } from "../shared/agent/jsonl.ts";
import { errorText } from "../shared/errors.ts";
import { pause } from "../shared/lifecycle.ts";
import { NO_CONVERSATION, toldConversation, whyAnew } from "./anew.ts";
import { boundAsks, tooManyAsks } from "./core/ask-bound.ts";
import { closingEvents } from "./core/closing.ts";
import { type EndManner, type EndReason, isIdle } from "./core/decide.ts";
import type { Conversation, Engine, EngineProblem, Env, Launch } from "./engine.ts";
import { leadsElsewhere } from "./process/directory.ts";
import { EngineProcess, removeOldOutputs } from "./process/engine-process.ts";
import { killMarked } from "./process/orphans.ts";
import { eventsOfRights } from "./rights.ts";
import { Seat } from "./seat.ts";
import {
  engineEnv,
  forkPoint,
  keeperOf,
  lastSessionId,
  planGeneration,
  planProcess,
} from "./start-engine.ts";
import type { ThreadFiles } from "./thread-files.ts";
import { configOfLeave, eventsOfLeave, TrustGate } from "./trust/gate.ts";
import type { TurnWatch } from "./turn-watch.ts";
import { makeWorkspace, setUpWorkspace, type WorkspaceOptions } from "./workspace/workspace.ts";

const GENTLE_END_MS = 3_000;

export interface EngineLifeOptions {
  folder: string;
  config: ThreadConfig;
  engine: Engine;
  env: Env;
  thread: ThreadFiles;
  turns: TurnWatch;
  /** The engine wrote something, or ended. */
  onChange: () => void;
  /** Resolves when the next start will find a FIFO, or has to make one. */
  spareFifo: Promise<void>;
}

export class EngineLife {
  readonly #options: EngineLifeOptions;
  readonly #env: Env;
  readonly #thread: ThreadFiles;
  readonly #turns: TurnWatch;
  readonly #trust: TrustGate;
  readonly #keep: ReturnType<typeof keeperOf>;
  #seat: Seat | undefined;

  constructor(options: EngineLifeOptions) {
    this.#options = options;
    this.#env = engineEnv(options.env, options.config.threadId, options.folder);
    this.#thread = options.thread;
    this.#turns = options.turns;
    this.#trust = new TrustGate(options);
    this.#keep = keeperOf(options.config, options.env, options.folder);
  }

  get #workspace(): WorkspaceOptions {
    const { folder, config } = this.#options;
    const isStopped = () => {
      this.#thread.readInbox(); // the runner's loop waits for the command
      return this.#fold.isKilled || this.#fold.stoppedAt !== null;
    };
    return {
      folder,
      config,
      env: this.#env,
      keep: this.#keep,
      append: (bodies) => this.#thread.append(null, bodies),
      isStopped,
    };
  }

  /** Undefined while no engine runs. */
  get seat(): Seat | undefined {
    return this.#seat;
  }

  get #fold(): ThreadFold {
    return this.#thread.fold;
  }

  /** Takes over the engine that another runner started, alive or dead, and reads all that it wrote. */
  async attach(): Promise<void> {
    const { folder } = this.#options;
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
    this.#seat = this.#seatFor(launch, process);
    while (await this.read()) this.#thread.writeNotes(this.#seat);
    this.#seat.start(Date.now());
  }

  /** @returns whether there was anything to read */
  async read(): Promise<boolean> {
    const seat = this.#seat;
    if (!seat) return false;
    seat.process.flush();
    const { generation } = seat.launch;
    const lines = seat.process.output.read();
    for (const line of lines) {
      const bodies = this.#translate(line, seat);
      await this.#turns.append({ from: "engine", generation, byte: line.byte }, bodies);
    }
    if (!isIdle(this.#fold, seat)) seat.idleSinceMs = Date.now();
    return lines.length > 0;
  }

  #translate(line: Line, seat: Seat): EventBody[] {
    try {
      const heard = seat.session.hear(line, {
        fold: this.#fold,
        launch: seat.launch,
        config: this.#options.config,
        nowMs: Date.now(),
      });
      if (heard === "forged") return forged(seat, ANSWERED);
      return seat.saidBefore.isOther(heard) ? forged(seat, ASKED) : this.#bound(heard, seat);
    } catch (error) {
      return this.#unreadable(line.text, error, seat);
    }
  }

  #bound(heard: readonly EventBody[], seat: Seat): EventBody[] {
    const { bodies, refused } = boundAsks(heard, this.#fold);
    const [why] = refused.values();
    for (const [requestId, sentence] of refused) seat.refused.set(requestId, sentence);
    if (why === undefined || seat.hasToldBound) return bodies;
    seat.hasToldBound = true;
    return [...bodies, tooManyAsks(why)];
  }

  #seatFor(launch: Launch, process: EngineProcess): Seat {
    const { engine, folder, config } = this.#options;
    const textAt = (byte: number, bytes: number) => process.output.textAt(byte, bytes);
    const session = engine.begin({
      ...{ launch, env: this.#env, folder, config, textAt },
      isOurs: process.isOurs,
    });
    return new Seat({ launch, process, session, nowMs: Date.now() });
  }

  /** A living engine that says what we can't read is ended; of a dead one the rest is read. */
  #unreadable(text: string, error: unknown, seat: Seat): EventBody[] {
    const description = `${errorText(error).slice(0, 500)}: ${text.slice(0, 500)}`;
    const title = "A line of the engine's output can't be read";
    const notice: EventBody = { type: "notice", severity: "error", title, description };
    if (seat.isEnding || !seat.process.isAlive) return [notice];
    return [notice, { type: "failure", code: "engine_output", message: `${title}.` }];
  }

  async start(): Promise<void> {
    const { folder, config, engine } = this.#options;
    if (await makeWorkspace(this.#workspace, this.#fold)) return;
    // What lies elsewhere is not even looked at.
    if (leadsElsewhere(config.dir)) return this.#discard(swapped(config.dir));
    // The old engine is gone before its file is read, and before anybody looks at what it could still change.
    await killMarked(folder);
    const leave = await this.#trust.look(this.#fold);
    const said = eventsOfLeave(leave, this.#fold, config);
    if (leave.isTrusted === undefined) return void this.#thread.append(null, said);
    // The command is the person's own; what it runs, such as a package's scripts, is the repository's.
    if (leave.isTrusted && (await setUpWorkspace(this.#workspace, this.#fold))) return;
    const fold = this.#fold;
    const sessionId = lastSessionId(fold, this.#thread.lastLaunch, config);
    const last = this.#thread.lastLaunch;
    const looked = await this.#lookAtConversation(sessionId);
    const conversation = toldConversation(fold, { sessionId, found: looked, last });
    const generation = Math.max(newestGeneration(folder), fold.endedGeneration) + 1;
    const goesOn = config.origin !== undefined || config.taken !== undefined;
    const branch = goesOn ? { threadId: config.origin?.threadId, fork: await this.#lookAtFork() } : undefined;
    const left = this.#whyLeft(sessionId, conversation);
    const plannedFor = planGeneration(fold, generation, sessionId, conversation, new Date(), branch, left);
    const { events } = plannedFor;
    const launch = {
      ...plannedFor.launch,
      ...(config.number !== undefined && { number: config.number }),
      ...(leave.isTrusted ? {} : { isUntrusted: true as const }),
    };
    // A program that is too old takes a cut-off turn up as soon as it runs, and does its calls again.
    const early = launch.takesUp ? await this.#check() : undefined;
    if (early) return this.#discard(early);
    // Some of what a directory brings runs as soon as the program does. Changed in these moments: once more from the
    // beginning.
    if (!(await this.#trust.isUnchanged(leave))) return;
    this.#thread.append(null, [...said, ...eventsOfRights(config, this.#fold), ...events]);
    // Noted before it runs: a runner that finds the process must know what it was started for.
    this.#thread.noteLaunch(launch);
    if (launch.takesUp) this.#thread.syncLaunch();
    const trusted = configOfLeave(config, leave);
    const request = { config: trusted, launch, fold: this.#fold, env: this.#env, folder };
    const plan = planProcess(engine, request, this.#keep);
    await this.#options.spareFifo;
    const process = EngineProcess.start(folder, generation, plan, this.#options.onChange);
    this.#seat = this.#seatFor(launch, process);
    // Any other does nothing before it is told. It is told once its launch is on the disk (a power cut ends the process
    // and not what it has saved) and it is known to be good: it comes up meanwhile.
    if (!launch.takesUp) this.#thread.syncLaunch();
    // While a delivery is open, an older output may tell that it was taken.
    if (fold.deliveries.length === 0) removeOldOutputs(folder, generation);
    const problem = launch.takesUp ? undefined : await this.#check();
    // What it has loaded may be what nobody has looked at: it is told nothing.
    if (problem || !(await this.#trust.isUnchanged(leave))) return this.#discard(problem);
    this.#seat.start(Date.now());
  }

  /** Its process is no engine's, so it lacks the engine's marker. */
  async #check(): Promise<EngineProblem | undefined> {
    const { engine, config, env } = this.#options;
    // No program starts there: it would be taken for the one that is missing.
    if (!existsSync(config.dir))
      return { code: "no_directory", message: `The directory ${config.dir} is not there.` };
    if (leadsElsewhere(config.dir)) return swapped(config.dir);
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

  async #lookAtConversation(sessionId: string | undefined): Promise<Conversation> {
    if (sessionId === undefined) return NO_CONVERSATION;
    const deliveryIds = this.#fold.deliveries.map(({ deliveryId }) => deliveryId);
    const lastAt = this.#fold.engine?.lastAt;
    return this.#options.engine.look(sessionId, { deliveryIds, lastAt }, this.#env);
  }

  /** Why the conversation is begun anew, if it is; and how long the transcript was when it began. */
  #whyLeft(sessionId: string | undefined, found: Conversation): Pick<Launch, "anew" | "beganBytes"> {
    const { lastLaunch: last, transcriptBytes } = this.#thread;
    const anew = whyAnew(this.#fold, this.#options.config, { sessionId, found, last, transcriptBytes });
    const goesOn = found.exists && anew === undefined && last?.sessionId === sessionId;
    const beganBytes = goesOn ? (last?.beganBytes ?? transcriptBytes) : transcriptBytes;
    return { beganBytes, ...(anew && { anew }) };
  }

  /** Whether the conversation that a branch leaves has the line that it is left at. */
  async #lookAtFork(): Promise<Conversation | undefined> {
    const { engine, config } = this.#options;
    const fork = forkPoint(this.#fold, config);
    return fork && engine.look(fork.sessionId, { deliveryIds: [], lastAt: fork.at }, this.#env);
  }

  async end(reason: EndReason, how: EndManner): Promise<void> {
    const seat = this.#seat;
    if (!seat) return;
    seat.tellToEnd(reason);
    if (how !== "crash") {
      if (how === "gentle") seat.send("end", seat.session.control({ op: "end" }), Date.now());
      else seat.process.terminate();
      const deadline = Date.now() + GENTLE_END_MS;
      while (seat.process.isAlive && Date.now() < deadline) await pause(10);
    }
    await seat.process.kill();
    await this.close(reason);
  }

  /** The engine is dead: what it wrote is read to the end, and nothing of its work stays open. */
  async close(reason: EndReason): Promise<void> {
    const seat = this.#seat;
    if (!seat) return;
    seat.tellToEnd(reason);
    await killMarked(this.#options.folder);
    while (await this.read()) this.#thread.writeNotes(this.#seat);
    await this.#turns.append(null, this.closing(reason));
    seat.close();
    this.#seat = undefined;
    this.#thread.noteEnd();
  }

  /** What is written when it has ended for this reason. */
  closing(reason: EndReason): EventBody[] {
    const process = this.#seat?.process;
    const generation = process?.generation ?? this.#fold.engine?.generation ?? 0;
    const error = reason === "crashed" || reason === "error" ? process?.lastWords() : undefined;
    return closingEvents(
      this.#fold,
      {
        generation,
        number: this.#options.config.number,
        reason,
        ...(process?.exit && { exitCode: process.exit.code, signal: process.exit.signal }),
        ...(error && { error }),
      },
      Date.now(),
      this.#seat?.state.chat,
    );
  }
}

const ANSWERED = {
  title: "Something inside answered in a person's place",
  what: "The agent's program took an answer that this thread never sent it.",
};
const ASKED = {
  title: "Something inside said otherwise what the agent asks",
  what: "The agent's program said two things of one call, or of one ask.",
};

/** The thread fails, whether the engine lives or not: a person is to know, and says whether it goes on. */
function forged(seat: Seat, { title, what }: typeof ANSWERED): EventBody[] {
  const description = `${what} A command that the agent was allowed to run can do that. The agent was ended; look at what it has run before you let it go on.`;
  const notice: EventBody = { type: "notice", severity: "error", title, description };
  if (seat.isEnding) return [notice];
  return [notice, { type: "failure", code: "forged_answer", message: `${title}. ${description}` }];
}

function swapped(dir: string): EngineProblem {
  return { code: "no_directory", message: `The directory ${dir} leads elsewhere now.` };
}

/** The generation of the newest FIFO or output; 0 if the engine was never started. */
function newestGeneration(folder: string): number {
  const found = readdirSync(folder).map((name) => /^(?:stdin\.(\d+)|engine\.(\d+)\.jsonl)$/.exec(name));
  return Math.max(0, ...found.map((match) => Number(match?.[1] ?? match?.[2] ?? 0)));
}
