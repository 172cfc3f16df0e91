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
import { PLACES_FOLDER, PLACES_MAX, PLACES_READY } from "../../shared/agent/markers.ts";
import { engineInputPath, threadPath } from "../../shared/agent/paths.ts";
import { comesBack, maySleep, personOf, waitTitle } from "../../shared/agent/place-order.ts";
import { endOfStep } from "../core/closing.ts";
import type { Running } from "../core/decide.ts";
import { wantsPlace } from "../core/place-wants.ts";
import type { Env } from "../engine.ts";
import { watchFolder } from "../folder/watch-folder.ts";
import { type LiveHolder, thisProcess } from "../locks/alive.ts";
import { type Claimant, PlaceFolder } from "./place-folder.ts";

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
  /** How many come before it; undefined if it does not wait. */
  #before: number | undefined;
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
    return this.#before !== undefined;
  }

  /** Whether it stands so far back that its runner may end: the sidecar starts the next runner in time. */
  get isFarBack(): boolean {
    const ready = this.#options.env[PLACES_READY];
    if (ready === undefined || this.#before === undefined) return false;
    return this.#before >= Number(ready) && maySleep(this.#log.fold);
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
    const file = threadPath(this.#options.folder, "config");
    if (this.isFarBack) this.#places?.sleep(this.#claimant(Date.now()), file);
    else this.#leave(undefined, 0);
    this.#watcher?.close();
  }

  #take(places: PlaceFolder, seat: Running | undefined, nowMs: number): void {
    const { fold } = this.#log;
    const generation = seat?.launch.generation ?? fold.endedGeneration + 1;
    if (this.#heldFor === generation) return;
    const claimant = this.#claimant(nowMs);
    const fifo = engineInputPath(this.#options.folder, generation);
    const holders = [this.#self, { fifo }];
    // An engine that another runner started works on with its place, unless it gave that back: then it asks for one,
    // also if what it waited for has come while no runner was there.
    if ((this.#heldFor ?? 0) > 0 || places.has(claimant.threadId)) {
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

  #claimant(nowMs: number): Claimant {
    const { threadId, createdBy } = this.#options.config;
    const { fold } = this.#log;
    const step = fold.steps.find(({ kind }) => kind === "place");
    const sinceMs = step ? Date.parse(step.startedAt) : nowMs;
    return { threadId, person: personOf(fold, createdBy), isBack: comesBack(fold), sinceMs };
  }

  #wait(before: number, nowMs: number): void {
    this.#heldFor = 0;
    this.#before = before;
    this.#watcher ??= watchFolder(this.#options.env[PLACES_FOLDER] ?? "", this.#onChange);
    const { fold } = this.#log;
    const step = fold.steps.find(({ kind }) => kind === "place");
    const title = waitTitle(before);
    if (!step) {
      this.#log.append(null, [{ type: "step_start", stepId: `place-${fold.seq}`, kind: "place", title }]);
    } else if (step.title !== title && nowMs - this.#toldMs > TELL_INTERVAL_MS) {
      this.#log.append(null, [{ type: "step_update", stepId: step.stepId, title }]);
    } else return;
    this.#toldMs = nowMs;
  }

  #leave(status: "cancelled" | undefined, nowMs: number): void {
    if (this.#heldFor !== 0 || this.isQueued) this.#places?.release(this.#options.config.threadId);
    this.#heldFor = 0;
    this.#endWait(status, nowMs);
  }

  #endWait(status: "completed" | "cancelled" | undefined, nowMs: number): void {
    this.#before = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
    if (status === undefined) return;
    const waits = this.#log.fold.steps.filter(({ kind }) => kind === "place");
    for (const step of waits) this.#log.append(null, [endOfStep(step, status, nowMs)]);
  }
}
