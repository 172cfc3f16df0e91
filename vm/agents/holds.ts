/** Which files agents hold, from what their runners tell each other. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { type Holds, holdsOf } from "../../shared/agent/holds.ts";
import { shownPath } from "../../shared/agent/shown-path.ts";
import type { ThreadId } from "../../shared/ids.ts";

const noteSchema = z.object({ holds: z.array(z.string()) });
/** A runner names a hundred files at most. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads the files that an agent with a turn holds; null if it holds none.
 * @param board where the runners' notes are
 * @param dirOf where the agent works; asked only if it holds something
 */
export function readHolds(board: string, threadId: ThreadId, dirOf: () => string): Holds | null {
  const path = join(board, `${threadId}.json`);
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size === 0 || size > MAX_BYTES) return null;
  const note = noteSchema.safeParse(findJson(path)).data;
  if (!note || note.holds.length === 0) return null;
  const dir = dirOf();
  return holdsOf(note.holds.map((file) => shownPath(file, dir)));
}

/** A note goes at its turn's end; it is replaced as a whole. */
function findJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
