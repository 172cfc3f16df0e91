/** The files of an agent as they were at a point of its conversation, from the states that its turns and undos keep. */
import { setImmediate } from "node:timers/promises";
import { findEvent } from "../../shared/agent/find-event.ts";
import { findTurn } from "../../shared/git/refs.ts";
import { GitError, runGit } from "../../shared/git/run-git.ts";
import type { WorkTree } from "../../shared/git/work-tree.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { readLines } from "../streams/lines.ts";
import { inWorkTree } from "./work-tree.ts";

/** A turn or an undo that changed files, or the turn that runs. */
export interface FilesTurn {
  /** The turn's id; for an undo its own id. */
  turnId: string;
  /** The events with which it began, and with which its last call ended: after that it changed nothing. */
  start: number;
  /** Infinite while it runs: nothing of it is kept yet. */
  end: number;
}

export interface FilesState {
  turnId: string;
  side: "before" | "end";
  /** The point is in the midst of a turn that changes files: they are from before it. */
  isMidTurn: boolean;
}

/**
 * Before a turn's last call has ended, the files from before that turn; else as the last change before the point has
 * left them, or as the first one after it has found them.
 * @param turns in the order in which they began
 * @param seq the point
 */
export function stateAt(turns: readonly FilesTurn[], seq: number): FilesState | undefined {
  const around = turns.find(({ start, end }) => start <= seq && seq < end);
  const isMidTurn = around !== undefined;
  if (around && isKept(around)) return { turnId: around.turnId, side: "before", isMidTurn };
  const last = turns.findLast(({ end }) => end <= seq);
  if (last) return { turnId: last.turnId, side: "end", isMidTurn };
  const next = turns.find((turn) => turn.start > seq && isKept(turn));
  return next && { turnId: next.turnId, side: "before", isMidTurn };
}

function isKept({ end }: FilesTurn): boolean {
  return Number.isFinite(end);
}

/**
 * Those of which a state may be kept, and the turn that runs. An undo that no turn has followed belongs to the end of
 * the last turn: whoever branches where the conversation stands now does not get back what was undone.
 * @param transcript the file
 * @param end so far it counts
 */
export async function readFilesTurns(transcript: string, end: number): Promise<FilesTurn[]> {
  const turns = new Map<string, FilesTurn>();
  let lastCall = 0;
  let newest: FilesTurn | undefined;
  const undos: FilesTurn[] = [];
  const changing = new Set<string>();
  for (const lines of readLines(transcript, 0)) {
    for (const { text, byte } of lines) {
      const event = byte < end ? findEvent(text) : undefined;
      if (event?.type === "turn_start") {
        newest = { turnId: event.turnId, start: event.seq, end: Number.POSITIVE_INFINITY };
        turns.set(event.turnId, newest);
      } else if (event?.type === "tool_call_update") lastCall = event.seq;
      else if (event?.type === "turn_end") {
        const turn = turns.get(event.turnId);
        if (turn) turn.end = Math.max(turn.start, lastCall);
      } else if (event?.type === "turn_changes" && event.files > 0) changing.add(event.turnId);
      else if (event?.type === "undo" && event.files > 0) {
        const undo = { turnId: event.undoId, start: event.seq, end: event.seq };
        turns.set(event.undoId, undo);
        undos.push(undo);
        changing.add(event.undoId);
      }
    }
    await setImmediate(); // others are served meanwhile
  }
  for (const undo of undos)
    if (newest && isKept(newest) && undo.start > newest.start) undo.start = undo.end = newest.end;
  return [...turns.values()].filter((turn) => changing.has(turn.turnId) || !isKept(turn));
}

/** The tree that git keeps of it; undefined if it keeps none, or none any more. */
export function findTree(
  { threadId, path, env }: { threadId: ThreadId; path: string; env: Record<string, string> },
  { turnId, side }: FilesState,
): Promise<string | undefined> {
  const find = async (tree: WorkTree) => {
    const kept = await findTurn(tree, threadId, turnId);
    return side === "before" ? kept?.before : (kept?.end ?? kept?.after);
  };
  return orUndefined(inWorkTree(path, env, find));
}

/** @returns whether git still has that tree */
export async function hasTree(path: string, env: Record<string, string>, object: string): Promise<boolean> {
  const look = (tree: WorkTree) => runGit(tree.place, ["cat-file", "-e", `${object}^{tree}`]);
  return (await orUndefined(inWorkTree(path, env, look))) !== undefined;
}

function orUndefined<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof GitError) return undefined;
    throw error;
  });
}
