/** The files of an agent as they were at a point of its conversation, from the states that its turns have kept. */
import { setImmediate } from "node:timers/promises";
import { parseEvent, type ThreadEvent } from "../../shared/agent/events.ts";
import { findTurn } from "../../shared/git/refs.ts";
import { GitError } from "../../shared/git/run-git.ts";
import { readLines } from "../streams/lines.ts";
import { inWorkTree } from "./work-tree.ts";

/** A turn that changed files. */
export interface ChangingTurn {
  turnId: string;
  /** The events with which it began, and with which its last call ended: after that it changed nothing. */
  start: number;
  end: number;
}

export interface FilesState {
  turnId: string;
  side: "before" | "after";
}

/**
 * Before a turn's last call has ended, the files from before that turn; else as the last turn before the point has left them, or as
 * the first one after it has found them.
 * @param turns in the order in which they began
 * @param seq the point
 */
export function stateAt(turns: readonly ChangingTurn[], seq: number): FilesState | undefined {
  const around = turns.find(({ start, end }) => start <= seq && seq < end);
  if (around) return { turnId: around.turnId, side: "before" };
  const last = turns.findLast(({ end }) => end <= seq);
  if (last) return { turnId: last.turnId, side: "after" };
  const next = turns.find(({ start }) => start > seq);
  return next && { turnId: next.turnId, side: "before" };
}

/**
 * Those of which a state may be kept.
 * @param transcript the file
 * @param end so far it counts
 */
export async function readChangingTurns(transcript: string, end: number): Promise<ChangingTurn[]> {
  const turns = new Map<string, ChangingTurn>();
  let lastCall = 0;
  const changing = new Set<string>();
  for (const lines of readLines(transcript, 0)) {
    for (const { text, byte } of lines) {
      const event = byte < end ? findEvent(text) : undefined;
      if (event?.type === "turn_start")
        turns.set(event.turnId, { turnId: event.turnId, start: event.seq, end: Number.POSITIVE_INFINITY });
      else if (event?.type === "tool_call_update") lastCall = event.seq;
      else if (event?.type === "turn_end") {
        const turn = turns.get(event.turnId);
        if (turn) turn.end = Math.max(turn.start, lastCall);
      } else if (event?.type === "turn_changes" && event.files > 0) changing.add(event.turnId);
    }
    await setImmediate(); // others are served meanwhile
  }
  return [...turns.values()].filter(({ turnId }) => changing.has(turnId));
}

/** The tree that git keeps of it; undefined if it keeps none, or none any more. */
export function findTree(
  { threadId, path, env }: { threadId: string; path: string; env: Record<string, string> },
  { turnId, side }: FilesState,
): Promise<string | undefined> {
  return inWorkTree(path, env, async (tree) => (await findTurn(tree, threadId, turnId))?.[side]).catch(
    (error: unknown) => {
      if (error instanceof GitError) return undefined;
      throw error;
    },
  );
}

function findEvent(text: string): ThreadEvent | undefined {
  try {
    return parseEvent(text);
  } catch {
    return undefined; // a foreign line
  }
}
