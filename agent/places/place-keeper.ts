/**
 * The thread's place among those that may have a turn at once: taken before the model is called, given back while the
 * turn waits for somebody and when it has ended. Called once a round of the runner's loop, it looks and never waits.
 * That the thread waits for a place is a step of its transcript, so the next runner waits on where this one was.
 */
import type { FSWatcher } from "node:fs";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { DayLimit } from "../../shared/agent/limits.ts";
import { PLACES_FOLDER, PLACES_MAX } from "../../shared/agent/markers.ts";
import { engineInputPath } from "../../shared/agent/paths.ts";
import { endOfStep } from "../core/closing.ts";
import type { Running } from "../core/decide.ts";
import { comesBack, wantsPlace } from "../core/place-wants.ts";
import type { Env } from "../engine.ts";
import { watchFolder } from "../folder/watch-folder.ts";
import { type LiveHolder, thisProcess } from "../locks/alive.ts";
import { type Claimant, MAX_COUNTED, PlaceFolder } from "./place-folder.ts";

export interface PlaceKeeperOptions {
  folder: string;
  config: ThreadConfig;
  env: Env;
}

/** The thread's transcript. */
interface Log {
  readonly fold: ThreadFold;
  append(source: null, bodies: readonly EventBody[]): void;
}

/** How many come before is told anew so often at most. */
const TELL_INTERVAL_MS = 1_000;

export class PlaceKeeper {
  readonly #options: PlaceKeeperOptions;
  readonly #log: Log;
  readonly #onChange: () => void;
  /** Undefined: as many as like to may have a turn. */
  readonly #places: PlaceFolder | undefined;
  readonly #self: LiveHolder;
  /** The engine's process for which the place is held; 0: none is held; undefined: nobody has looked yet. */
  #heldFor: number | undefined;
  #isQueued = false;
  #toldMs = 0;
  #watcher: FSWatcher | undefined;

  /** @param onChange is called when a place may have come free, while the thread waits for one */
  constructor(options: PlaceKeeperOptions, log: Log, onChange: () => void) {
    this.#options = options;
    this.#log = log;
    this.#onChange = onChange;
    const { [PLACES_FOLDER]: folder, [PLACES_MAX]: max } = options.env;
    this.#places = folder && max ? new PlaceFolder(folder, Number(max)) : undefined;
    this.#self = thisProcess();
  }

  /** It waits for a place: the model is not to be called. */
  get isQueued(): boolean {
    return this.#isQueued;
  }

  look(seat: Running | undefined, nowMs: number, day?: DayLimit): void {
    if (!this.#places) return;
    const { fold } = this.#log;
    const wants = wantsPlace(fold, seat, nowMs, day);
    if (wants === undefined) return;
    if (wants) this.#take(this.#places, seat, nowMs);
    else this.#leave("cancelled", nowMs);
  }

  /** The runner ends, and no engine is left. */
  close(): void {
    this.#leave(undefined, 0);
  }

  #take(places: PlaceFolder, seat: Running | undefined, nowMs: number): void {
    const { fold } = this.#log;
    const generation = seat?.launch.generation ?? fold.endedGeneration + 1;
    if (this.#heldFor === generation) return;
    const step = fold.steps.find(({ kind }) => kind === "place");
    const claimant: Claimant = {
      threadId: this.#options.config.threadId,
      person: this.#person(),
      isBack: comesBack(fold),
      sinceMs: step ? Date.parse(step.startedAt) : nowMs,
    };
    const fifo = engineInputPath(this.#options.folder, generation);
    const holders = [this.#self, { fifo }];
    // An engine that another runner started works on; so does one that has just been started on this place.
    const isAtWork = seat !== undefined && comesBack(fold) && this.#heldFor === undefined && !step;
    if (isAtWork || (this.#heldFor ?? 0) > 0 || places.has(claimant.threadId)) {
      places.keep(claimant, holders);
    } else {
      const before = places.take(claimant, holders);
      if (before !== undefined) {
        this.#wait(before, nowMs);
        return;
      }
    }
    this.#heldFor = generation;
    this.#endWait("completed", nowMs);
  }

  #wait(before: number, nowMs: number): void {
    this.#heldFor = 0;
    this.#isQueued = true;
    this.#watcher ??= watchFolder(this.#options.env[PLACES_FOLDER] ?? "", this.#onChange);
    const { fold } = this.#log;
    const step = fold.steps.find(({ kind }) => kind === "place");
    const title = titleOf(before);
    if (!step) {
      this.#log.append(null, [{ type: "step_start", stepId: `place-${fold.seq}`, kind: "place", title }]);
    } else if (step.title !== title && nowMs - this.#toldMs > TELL_INTERVAL_MS) {
      this.#log.append(null, [{ type: "step_update", stepId: step.stepId, title }]);
    } else return;
    this.#toldMs = nowMs;
  }

  #leave(status: "cancelled" | undefined, nowMs: number): void {
    if (this.#heldFor !== 0 || this.#isQueued) this.#places?.release(this.#options.config.threadId);
    this.#heldFor = 0;
    this.#endWait(status, nowMs);
  }

  #endWait(status: "completed" | "cancelled" | undefined, nowMs: number): void {
    this.#isQueued = false;
    this.#watcher?.close();
    this.#watcher = undefined;
    if (status === undefined) return;
    const waits = this.#log.fold.steps.filter(({ kind }) => kind === "place");
    for (const step of waits) this.#log.append(null, [endOfStep(step, status, nowMs)]);
  }

  /** Whoever wrote what waits longest; a thread's own messages are its parent's. */
  #person(): string {
    const { fold } = this.#log;
    const messages = [...fold.deliveries.flatMap((delivery) => delivery.messages), ...fold.messages];
    const source = messages.find((message) => /^(discord|api|terminal)/.test(message.source))?.source;
    return source ?? this.#options.config.createdBy;
  }
}

/** Exact if it is soon the thread's turn: each change costs Discord a request. */
function titleOf(before: number): string {
  const count = before <= MAX_COUNTED ? String(before) : `over ${Math.floor((before - 1) / 10) * 10}`;
  return `Waiting for a free place${before === 0 ? "" : ` (${count} before you)`}`;
}
