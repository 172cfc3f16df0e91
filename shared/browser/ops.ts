/** What people and agents do with a browser. */
import * as z from "zod";
import { MAX_MARKS } from "./spec.ts";

const MAX_TYPED_CHARACTERS = 10_000;
const MAX_WORDS = 400;

const number = z
  .int("must be a whole number")
  .min(1, `must be from 1 to ${MAX_MARKS}`)
  .max(MAX_MARKS, `must be from 1 to ${MAX_MARKS}`);
/** Which picture the number stands on; without it, on the newest. */
const picture = z.int().min(1).optional();
/** What stands at the number, as a reader of that picture was told: if something else does, nothing is done. */
const what = z.string().max(MAX_WORDS, `must be at most ${MAX_WORDS} characters`).optional();
const text = z
  .string()
  .max(MAX_TYPED_CHARACTERS, `must be at most ${MAX_TYPED_CHARACTERS} characters`)
  .refine((typed) => !typed.includes("\0"), "must not hold a NUL");

/** Keys that can be pressed, by the names that browsers have for them. */
export const BROWSER_KEYS = [
  ...["Enter", "Escape", "Tab", "Backspace", "Delete", "Space"],
  ...["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"],
] as const;

export const browserOpSchema = z.discriminatedUnion("do", [
  z.strictObject({ do: z.literal("open"), url: z.string() }),
  z.strictObject({ do: z.literal("click"), number, picture, what }),
  /** Into what has a number, in place of what stands there, or where the cursor is. */
  z.strictObject({
    do: z.literal("type"),
    text,
    number: number.optional(),
    picture,
    what,
    /** Whether Enter follows. */
    enter: z.boolean().default(false),
  }),
  z.strictObject({ do: z.literal("press"), key: z.enum(BROWSER_KEYS) }),
  z.strictObject({ do: z.literal("scroll"), to: z.enum(["up", "down", "left", "right", "top", "bottom"]) }),
  z.strictObject({ do: z.literal("back") }),
  z.strictObject({ do: z.literal("forward") }),
  z.strictObject({ do: z.literal("reload") }),
  /** Ends what loads. */
  z.strictObject({ do: z.literal("stop") }),
  /** Takes a new picture. */
  z.strictObject({ do: z.literal("look") }),
]);
export type BrowserOp = z.output<typeof browserOpSchema>;
export type SentBrowserOp = z.input<typeof browserOpSchema>;
