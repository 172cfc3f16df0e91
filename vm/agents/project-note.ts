/** The sidecar's note on a thread's files in the project. It lies in the thread's own folder, where no agent writes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ProjectionFolder } from "./projection-folder.ts";

/** Below the directory. */
export const PLACE = [".ai", "threads"] as const;
const FILES = ["thread.json", "state.json", "transcript.jsonl", "transcript.md"];

const grownSchema = z.object({
  /** How far the source was read. */
  source: z.int().min(0),
  /** The size of the file that was made of it. */
  size: z.int().min(0),
});

const noteSchema = z.object({
  v: z.literal(1),
  /** A real path. */
  base: z.string().startsWith("/"),
  name: z.string().regex(/^[A-Za-z0-9_-]{1,80}$/),
  events: grownSchema,
  markdown: grownSchema,
  /** The names of files. */
  asks: z.array(z.string()),
  /** All that was there to write, if all of it was written. */
  state: z.string(),
});
export type ProjectNote = z.infer<typeof noteSchema>;

export function noteFile(folder: string): string {
  return join(folder, "project.json");
}

/** @param folder of the thread @returns undefined if there are none, or nothing is known of them */
export function findNote(folder: string): ProjectNote | undefined {
  try {
    return noteSchema.safeParse(JSON.parse(readFileSync(noteFile(folder), "utf8"))).data;
  } catch {
    return undefined; // not there, or damaged
  }
}

/** Removes a thread's files in the project, if they are where they were; what others have put beside them stays. */
export function removeProjectFiles(folder: string): void {
  const note = findNote(folder);
  if (!note) return;
  const { base, name, asks } = note;
  const use = (parts: readonly string[], work: (place: ProjectionFolder) => void) => {
    try {
      ProjectionFolder.use(base, [...PLACE, ...parts], false, work);
    } catch (error) {
      if (!/^(ENOENT|ENOTDIR|ELOOP)$/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  };
  use([name, "approvals"], (approvals) => {
    for (const ask of asks) approvals.remove(ask);
  });
  use([name], (place) => {
    for (const file of FILES) place.remove(file);
    place.removeFolder("approvals");
  });
  use([], (place) => place.removeFolder(name));
}
