/** The files that an agent holds: no other one in its directory can write them now. */
import * as z from "zod";

const MAX_NAMED = 3;

/** `files` are the first of them, as the agent's directory names them; `count` is how many there are. */
export const holdsSchema = z.object({ files: z.array(z.string()), count: z.int() });
export type Holds = z.infer<typeof holdsSchema>;

/** @returns null if there are none */
export function holdsOf(files: readonly string[]): Holds | null {
  return files.length === 0 ? null : { files: files.slice(0, MAX_NAMED), count: files.length };
}

/** `holds a.ts, b.ts and 2 more`; empty if it holds none. */
export function holdsText(holds: Holds | null | undefined): string {
  if (!holds || holds.count === 0) return "";
  const more = holds.count - holds.files.length;
  return `holds ${holds.files.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
