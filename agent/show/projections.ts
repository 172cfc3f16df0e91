/** What is made from the transcript for people and for the next start: pane, transcript.md, live.json, state.json. */
import { closeSync, fsyncSync, openSync } from "node:fs";
import type { Writable } from "node:stream";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { type Live, type RunnerState, stateSchema } from "../../shared/agent/files.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import type { EngineState, Launch } from "../engine.ts";
import { AppendFile } from "../folder/append-file.ts";
import { findJson, replaceJson } from "../folder/json-file.ts";
import { markdownOf, paneText } from "./render.ts";

const LIVE_INTERVAL_MS = 250;
const STATE_INTERVAL_MS = 1_000;

/** When state.json is written: in its time, before this returns, or so that it is on the disk when this returns. */
export type StateWrite = "soon" | "now" | "durable";

/** What state.json says besides the transcript's own positions. */
export interface Positions {
  transcriptBytes: number;
  inboxBytes: number;
  engineBytes: number;
  launch: Launch | undefined;
}

/** The last runner's notes, if they can be read; a hint only. */
export function readState(folder: string): RunnerState | undefined {
  const parsed = stateSchema.safeParse(findJson(threadPath(folder, "state")));
  return parsed.success ? parsed.data : undefined;
}

export class Projections {
  readonly #folder: string;
  readonly #pane: Writable;
  readonly #markdown: AppendFile;
  #stateMs = 0;
  #liveMs = 0;
  #liveText = "";

  /** @param markdownBytes how much of transcript.md is good */
  constructor(folder: string, pane: Writable, markdownBytes: number) {
    this.#folder = folder;
    this.#pane = pane;
    this.#markdown = new AppendFile(threadPath(folder, "markdown"), markdownBytes);
  }

  /** An event that was written before: the pane has shown it. */
  catchUp(event: ThreadEvent): void {
    this.#markdown.append(markdownOf(event));
  }

  show(events: readonly ThreadEvent[]): void {
    this.#markdown.append(events.map(markdownOf).join(""));
    this.#pane.write(events.map(paneText).join(""));
  }

  /** Replaces live.json if it has changed, some times a second at most. @returns whether it waits for its time */
  writeLive(fold: ThreadFold, state: EngineState | undefined, nowMs: number): boolean {
    const live = liveOf(fold, state);
    const text = JSON.stringify(live);
    if (text === this.#liveText) return false;
    if (nowMs - this.#liveMs < LIVE_INTERVAL_MS) return true;
    replaceJson(threadPath(this.#folder, "live"), { ...live, updatedAt: new Date(nowMs).toISOString() });
    this.#liveText = text;
    this.#liveMs = nowMs;
    return false;
  }

  /** Replaces state.json, once a second at most unless it must be known or on the disk now. */
  writeState(fold: ThreadFold, positions: Positions, nowMs: number, when: StateWrite): void {
    if (when === "soon" && nowMs - this.#stateMs < STATE_INTERVAL_MS) return;
    const { launch } = positions;
    const state: RunnerState = {
      v: 1,
      ...(launch && { launch }),
      transcript: { bytes: positions.transcriptBytes, seq: fold.seq },
      inbox: { bytes: positions.inboxBytes },
      engine: { generation: launch?.generation ?? 0, bytes: positions.engineBytes },
      markdown: { bytes: this.#markdown.bytes },
      grantedRules: fold.grantedRules,
      totals: {
        turns: fold.totals.turns,
        usage: fold.totals.usage,
        spendUsd: fold.totals.spendUsd,
      },
      fold,
    };
    replaceJson(threadPath(this.#folder, "state"), state, when === "durable");
    this.#stateMs = nowMs;
  }

  /** What state.json says is on the disk when this returns. */
  syncState(): void {
    const file = openSync(threadPath(this.#folder, "state"), "r");
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  close(): void {
    this.#markdown.close();
  }
}

function liveOf(fold: ThreadFold, state: EngineState | undefined): Omit<Live, "updatedAt"> {
  const [step] = [...fold.steps, ...fold.toolCalls].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  return {
    v: 1,
    seq: fold.seq,
    ...(fold.turn && { turnId: fold.turn.turnId }),
    ...(state?.live.text?.text && { text: state.live.text }),
    ...(state?.live.retry && { retry: state.live.retry }),
    ...(step && {
      step: {
        stepId: "stepId" in step ? step.stepId : step.toolCallId,
        title: step.title,
        since: step.startedAt,
      },
    }),
  };
}
