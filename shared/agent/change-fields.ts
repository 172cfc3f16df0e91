/** The fields of the events that tell what turns changed in the work tree, and what was put back. */
import * as z from "zod";
import { sourceSchema } from "../principal.ts";

const str = z.string();
const count = z.number().int().nonnegative();
const left = () => z.array(z.object({ path: str, reason: str }));

export const turnChangesFields = () => ({
  turnId: str,
  files: count,
  added: count,
  removed: count,
  /** Files that somebody else may have changed meanwhile: no part of it. The first of them, and how many. */
  others: z.array(str).optional(),
  othersCount: count.optional(),
  /** In no state: very large files, repositories of their own. */
  leftOut: left().optional(),
  /** Why nothing is kept: there is no *Undo*. */
  problem: str.optional(),
});

export const undoFields = () => ({
  undoId: str,
  /** The turn, or the undo. */
  target: str,
  by: sourceSchema,
  status: z.enum(["completed", "refused"]),
  /** How many files are as they were before, and the first of them. */
  files: count,
  restored: z.array(str),
  /** Those that stay as they are, and why; the first of them, and how many. */
  left: left(),
  leftCount: count,
  /** Why it was refused, in words for a person. */
  message: str.optional(),
});
