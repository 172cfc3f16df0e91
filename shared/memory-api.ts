/** The part of the API about memory: what agents keep for later conversations. */
import * as z from "zod";
import { sourceSchema } from "./principal.ts";

const MAX_PATH = 200;
const path = z
  .string("is needed: user/<name>.md, dirs/<id>/<name>.md, main/<agent>/<name>.md, or with dir: <name>.md")
  .min(1, "must not be empty")
  .max(MAX_PATH, `must be at most ${MAX_PATH} characters`);
/** Below REPOS_DIR: the memory of that directory is meant. */
const dir = z.string().min(1, "must not be empty").max(1_000, "must be at most 1,000 characters").optional();
const wholeNumber = (min: number, max: number) =>
  z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text),
    z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max),
  );

export const memoriesQuerySchema = z.strictObject({ dir });
export const memoryFileQuerySchema = z.strictObject({ path, dir });
export const memoryWriteRequestSchema = z.strictObject({
  path,
  dir,
  /** Markdown; a file holds 64 KiB, a memory 1 MiB. */
  text: z.string().max(65_536, "must be at most 65,536 characters"),
  how: z.enum(["append", "replace"], { error: "must be append or replace" }).default("append"),
});
export type MemoryWriteRequest = z.input<typeof memoryWriteRequestSchema>;
export const memoryUndoRequestSchema = z.strictObject({ writeId: z.string().min(1).max(100) });

const writeSchema = z.object({
  writeId: z.string(),
  path: z.string(),
  how: z.enum(["append", "replace", "remove", "restore"]),
  by: sourceSchema,
  at: z.iso.datetime(),
});
export type MemoryWriteInfo = z.output<typeof writeSchema>;

const fileSchema = z.object({
  /** The path below all memories: `dirs/<id>/notes.md`. */
  path: z.string(),
  bytes: z.int(),
  changedAt: z.iso.datetime(),
  /** Who wrote it last; null if it was changed by hand since. */
  by: sourceSchema.nullable(),
});
export type MemoryFile = z.output<typeof fileSchema>;

export const memoriesReplySchema = z.object({
  memories: z.array(
    z.object({
      /** `user`, `dirs/<id>`, or `main/<agent>`. */
      folder: z.string(),
      /** The directory whose memory it is; null for any other owner. */
      directory: z.string().nullable(),
      files: z.array(fileSchema),
      /** There are more files than are listed. */
      isMore: z.boolean(),
    }),
  ),
});
export type Memory = z.output<typeof memoriesReplySchema>["memories"][number];

export const memoryFileReplySchema = fileSchema.extend({
  text: z.string(),
  /** The newest first; those that can be undone are among them. */
  writes: z.array(writeSchema),
});
export type MemoryFileReply = z.output<typeof memoryFileReplySchema>;
export const memoryWriteReplySchema = writeSchema;

export const memorySearchQuerySchema = z.strictObject({
  query: z
    .string("is needed: the words to look for")
    .min(1, "must not be empty")
    .max(500, "must be at most 500 characters"),
  where: z
    .enum(["memory", "transcripts", "all"], { error: "must be memory, transcripts or all" })
    .default("all"),
  dir,
  limit: wholeNumber(1, 50).default(20),
});

const hitSchema = z.object({
  /** The path below all memories, or `threads/<id>/transcript.jsonl`. */
  path: z.string(),
  line: z.int(),
  at: z.iso.datetime(),
  text: z.string(),
});
export type MemoryHit = z.output<typeof hitSchema>;

export const memorySearchReplySchema = z.object({
  /** Hits in memories first, then in transcripts. */
  hits: z.array(hitSchema),
  /** How many files were looked through. */
  filesSearched: z.int(),
  /** True if the newest writes are not in the index yet. */
  isBehind: z.boolean(),
});
export type MemorySearchReply = z.output<typeof memorySearchReplySchema>;
export type MemorySearchQuery = z.input<typeof memorySearchQuerySchema>;
