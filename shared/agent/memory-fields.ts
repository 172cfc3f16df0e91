/** The fields of events about memory: a write, and the beginning of a MEMORY.md that an agent was told. */
import * as z from "zod";

/** `waiting`: it is not in the file before a person lets it in. */
export const MEMORY_WRITE_STATES = ["waiting", "written"] as const;

export const memoryWriteFields = () => ({
  /** One a write and state: told once. */
  noteId: z.string(),
  writeId: z.string(),
  /** As the agent names it, such as `dir/notes.md`. */
  path: z.string(),
  how: z.enum(["append", "replace", "remove"]),
  state: z.enum(MEMORY_WRITE_STATES),
  text: z.string(),
});

export const memoryToldFields = () => ({
  /** The delivery, or the request, that the memory's beginning went with. */
  with: z.string(),
  generation: z.number().int().positive(),
  /** The files that it is of. */
  paths: z.array(z.string()),
});

/** As an agent asks for it. */
export interface MemoryWriteOfAgent {
  path: string;
  text: string;
  how: "append" | "replace" | "remove";
}
