/** The two files by which the sidecar tells the program that follows logs what to follow, and what to show of it. */
import * as z from "zod";

export const MAX_SERVICE_CHARACTERS = 1_000;
export const MAX_GREP_CHARACTERS = 200;

export const viewFields = {
  /** Whether new lines are held until people let the thread go on. */
  paused: z.boolean(),
  /** Only lines that hold this text are shown; null: all. */
  grep: z
    .string()
    .min(1, "must not be empty; null shows all lines")
    .max(MAX_GREP_CHARACTERS, `must be at most ${MAX_GREP_CHARACTERS} characters`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no line holds them
    .regex(/^[^\u0000-\u0008\u000a-\u001f\u007f]*$/, "must be one line without control characters")
    .nullable(),
};
/** The view on the logs that a thread follows. People change it. */
export const viewSchema = z.object(viewFields);
export type View = z.infer<typeof viewSchema>;

/** `files`: a path or a glob from the working directory on. `program`: one whose lines are the log. */
export const sourceSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("files"), pattern: z.string() }),
  z.object({ kind: z.literal("program"), argv: z.array(z.string()).min(1) }),
]);
export type FollowSource = z.infer<typeof sourceSchema>;

/** The logs that a thread follows, as its row keeps them. */
export const followsSchema = viewSchema.extend({
  /** The name with its prefix: `file:app.log`, `docker:web`, `unit:nginx.service`; or `journal`. */
  service: z.string(),
  source: sourceSchema,
  /** How many of the last lines it began with. */
  lines: z.int(),
});
export type Follows = z.infer<typeof followsSchema>;

export const specSchema = z.object({
  service: z.string(),
  source: sourceSchema,
  lines: z.int(),
  /** Holds a {@link View}; it is replaced whenever people change that. */
  viewFile: z.string(),
  /** Holds the lines that come in a pause. */
  heldFile: z.string(),
  maxHeldBytes: z.int(),
});
export type FollowSpec = z.infer<typeof specSchema>;

/** How many files a glob may fit. */
export const MAX_FOLLOWED_FILES = 50;
/** How many names a walk looks at. */
export const WALK_ENTRIES = 20_000;
