/**
 * What anybody wants of an agent thread while it goes on. An op keeps its fields all the way: a line of the inbox is one
 * with `ts` and `by`, the transcript's event `control` is one with its place and `by`, the fold keeps what waits as one
 * with `seq` and `by`, and the engine's adapter is given that.
 */
import * as z from "zod";
import type { Source } from "../principal.ts";
import { limitChangesSchema } from "./limit-schema.ts";

const str = z.string();

/** The id of a turn, or of an undo. */
export const turnIdSchema = str.regex(/^[\w-]{1,64}$/, "must be the id of a turn, or of an undo");

/** By op: the fields beside `op`. Each is made when it is first asked for. */
export const opFields = {
  /** Ends the turn; `turnId` makes sure that it is the one that the person saw. Another turn is left alone. */
  interrupt: () => ({ turnId: str.max(200).optional() }),
  pause: () => ({}),
  /** Goes on after a pause or a failure. */
  resume: () => ({}),
  /** `text`: what to keep. */
  compact: () => ({ text: str.max(4_000).optional() }),
  mode: () => ({ modeId: str.min(1).max(50) }),
  model: () => ({ model: str.min(1).max(200) }),
  /** Limits of the whole thread, from its beginning; null takes a limit away, one that is not named stays. */
  limit: () => ({ limits: limitChangesSchema() }),
  /** Puts the files back that a turn changed, or what an earlier undo put back; without `turnId` of the newest turn. */
  undo: () => ({ turnId: turnIdSchema.optional() }),
  /** Withdraws rules that people granted in the thread: what they allowed is asked about again, at once. */
  rules: () => ({ withdraw: z.array(str.min(1).max(1_000)).min(1).max(100) }),
  /**
   * Text from outside gets in: from here on the thread asks about all that it does, whatever was allowed. The sidecar
   * alone writes this, before that text; `why` says where it came from.
   */
  mark: () => ({ why: str.min(1).max(200) }),
  /** A person trusts what the thread has read. */
  unmark: () => ({}),
  kill: () => ({}),
  /** Ends a task of the engine's that runs in the background. */
  end_task: () => ({ taskId: str }),
} as const;

export type OpName = keyof typeof opFields;
export const OPS = Object.keys(opFields) as OpName[];

/** One op, without who wants it. */
export type Op<Name extends OpName = OpName> = Name extends OpName
  ? z.infer<z.ZodObject<{ op: z.ZodLiteral<Name> } & ReturnType<(typeof opFields)[Name]>>>
  : never;

/** An op that waits: `seq` of the event that told it. */
export type OrderedOp<Name extends OpName = OpName> = Op<Name> & { seq: number; by: Source };

/** What an op names beside itself, in a word for a person: a mode, a model, a turn. Empty if it names nothing. */
export function opTarget(op: Op): string {
  switch (op.op) {
    case "mode":
      return op.modeId;
    case "model":
      return op.model;
    case "end_task":
      return op.taskId;
    case "undo":
      return op.turnId ?? "";
    case "mark":
      return op.why;
    default:
      return "";
  }
}
