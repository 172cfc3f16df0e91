/** The tool by which an agent reads what was said in the threads of its family, and in its room. */
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import { anyThreadNameSchema, type ThreadId } from "../../shared/ids.ts";
import type { Marks } from "../agents/marks.ts";
import type { Threads } from "../threads/threads.ts";
import type { Children } from "./children.ts";
import type { Tool } from "./tool.ts";

const MAX_CHARACTERS = 20_000;
const MAX_LAST = 200;

const readSchema = z.strictObject({
  threadId: anyThreadNameSchema.describe(
    "A thread's id as list_threads told it; its name, number or title; room: the one that you are in",
  ),
  since: z
    .int()
    .min(0)
    .optional()
    .describe("Where an earlier answer of this tool ended: you get what came after it"),
  last: z
    .int()
    .min(1)
    .max(MAX_LAST)
    .optional()
    .describe("So many messages, the newest; without it all that fit"),
});

export interface ReadTranscriptOptions {
  threads: Threads;
  marks: Pick<Marks, "spread">;
  children: Pick<Children, "checkFamily">;
  /** The thread that a reader means. @throws AppError `not_found` */
  idOf: (name: string, readerId: ThreadId) => ThreadId;
}

export function readTranscriptTool(options: ReadTranscriptOptions): Tool {
  const { threads, marks, children, idOf } = options;
  return {
    name: "read_transcript",
    right: "read",
    description:
      "What was said in a thread of your family: a child's, your parent's, one beside you; or in the room that you are in. It gives the thread's end, or what came since an earlier answer.",
    inputSchema: readSchema,
    run: async ({ threadId: readerId, input }) => {
      const { threadId: named, since, last } = readSchema.parse(input);
      const threadId = idOf(named, readerId);
      const face = threads.saidFaceOf(threadId);
      if (!face?.isOpenTo(threadId, readerId)) children.checkFamily(readerId, threadId);
      if (!face)
        throw new AppError("unsupported", "threadId: nothing is said in that thread; it only prints.");
      const { texts, readTo, isMore, marks: known } = await face.read(threadId, since);
      // Text from outside may have come while this was read.
      await marks.spread(threadId, readerId, known);
      const whole = texts.slice(-(last ?? texts.length)).join("\n\n");
      const left = whole.length - MAX_CHARACTERS;
      const text = left > 0 ? `(${left} characters before this are left out.)\n${whole.slice(left)}` : whole;
      const rest = isMore ? ", and there is more" : "";
      return `${text || "Nothing yet."}\n\n(Read up to ${readTo}${rest}; since: ${readTo} gives what comes after it.)`;
    },
  };
}
