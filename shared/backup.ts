/** The lines that the program for backups prints for the command line to read. */
import * as z from "zod";
import { ERROR_CODES } from "./errors.ts";

export const backupDoneSchema = z.object({
  file: z.string(),
  bytes: z.number(),
  threads: z.number(),
});
export type BackupDone = z.infer<typeof backupDoneSchema>;

export const restoreDoneSchema = z.object({
  dir: z.string(),
  threads: z.number(),
  /** When the backup was made. */
  madeAt: z.string(),
  /** Where the backup's folder was, if that was elsewhere: agents' worktrees still name it. */
  movedFrom: z.string().nullable(),
});
export type RestoreDone = z.infer<typeof restoreDoneSchema>;

/** Why nothing was done. */
export const backupRefusedSchema = z.object({ error: z.string(), code: z.enum(ERROR_CODES) });
