/**
 * What a runner notes of the turn that runs, beside its own git directory: so that the next runner goes on where it
 * was killed, and other threads know that there is a turn in their work tree.
 */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { TOOL_KINDS } from "../../shared/agent/values.ts";
import type { BytePath } from "../../shared/git/paths.ts";
import { findJson, replaceJson } from "../folder/json-file.ts";

const callSchema = z.object({
  toolCallId: z.string(),
  kind: z.enum(TOOL_KINDS),
  /** What it writes, if that is one file: as git has its path. */
  path: z.string().optional(),
});
export type RunningCall = z.infer<typeof callSchema>;

const notesSchema = z.object({
  /** How many turns of the thread had ended before this one. */
  ended: z.number(),
  /** The work tree. */
  root: z.string(),
  since: z.number(),
  /** null while the turn runs. */
  until: z.number().nullable(),
  /** The state before the turn; null if none is kept: `problem` says why. */
  before: z.string().nullable(),
  problem: z.string().optional(),
  /** The newest state, and when it was. */
  last: z.string(),
  lastMs: z.number(),
  running: z.array(callSchema),
  /** Whether a call has run that could change a file. */
  hasRun: z.boolean(),
  /** What changed while a call of the turn ran that may have done it, */
  mine: z.array(z.string()),
  /** and what changed otherwise. */
  others: z.array(z.string()),
  leftOut: z.array(z.object({ path: z.string(), reason: z.string() })),
});
export type TurnNotes = z.infer<typeof notesSchema>;

export function ownDir(folder: string): string {
  return join(folder, "git");
}

const notesPath = (folder: string) => join(folder, "turn.json");

export function findNotes(folder: string): TurnNotes | undefined {
  const parsed = notesSchema.safeParse(findJson(notesPath(folder)));
  return parsed.success ? parsed.data : undefined;
}

export function writeNotes(folder: string, notes: TurnNotes): void {
  replaceJson(notesPath(folder), notes);
}

const meantSchema = z.object({ undoId: z.string(), paths: z.array(z.string()) });
const meantPath = (folder: string) => join(folder, "undo.json");

/** What the undo that runs meant to put back before its runner was killed. */
export function findMeant(folder: string, undoId: string): readonly BytePath[] {
  const parsed = meantSchema.safeParse(findJson(meantPath(folder)));
  return parsed.success && parsed.data.undoId === undoId ? parsed.data.paths : [];
}

export function noteMeant(folder: string, undoId: string, paths: readonly BytePath[]): void {
  replaceJson(meantPath(folder), { undoId, paths }, true);
}

/** Whether another thread had a turn in the work tree at any time since then. */
export function hadOtherTurn(folder: string, root: string, sinceMs: number): boolean {
  const threads = dirname(folder);
  return readdirSync(threads, { withFileTypes: true }).some((entry) => {
    const other = join(threads, entry.name);
    if (!entry.isDirectory() || other === folder) return false;
    if (!statSync(notesPath(other), { throwIfNoEntry: false })) return false;
    const notes = findNotes(other);
    return notes?.root === root && (notes.until === null || notes.until >= sinceMs);
  });
}
