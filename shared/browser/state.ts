/** What a browser shows: all that its messages, the console, the command line and agents draw from. */
import * as z from "zod";
import { browserOpSchema } from "./ops.ts";
import { pageTextSchema } from "./page-text.ts";

/** Something that can be clicked or typed into, with the number that it has on the picture. */
export const markSchema = z.object({
  number: z.int(),
  kind: z.enum(["link", "button", "field", "choice", "box", "frame", "other"]),
  /** What stands on it, as the page says: text from outside. */
  text: z.string(),
  /** Where a link or a form's button leads: its address without what it shares with the page's. */
  to: z.string().optional(),
});
export type Mark = z.infer<typeof markSchema>;

const downloadSchema = z.object({
  /** Counts a thread's downloads. */
  number: z.int(),
  /** Its name among the thread's attachments. */
  name: z.string(),
  bytes: z.int(),
});
export type Download = z.infer<typeof downloadSchema>;

const shownFields = {
  /** Counts the states, so that a reader knows a newer one. */
  version: z.int(),
  /** `loading`: a page is on its way. `failed`: what was asked for did not come; `note` says why. */
  status: z.enum(["starting", "loading", "ready", "failed"]),
  /** The page's address and title: text from outside. */
  url: z.string(),
  title: z.string(),
  /** The number of the newest picture; 0 before the first one. */
  picture: z.int(),
  pictureAt: z.iso.datetime().nullable(),
  /** Why a page did not come, what was refused, what a dialog said; a sentence or more, with text from outside. */
  note: z.string().nullable(),
  /** How far the page is scrolled, and its height, in pixels. */
  scrolled: z.object({ top: z.number(), height: z.number() }),
  /** The newest ones. */
  downloads: z.array(downloadSchema),
};

/** What people see. */
export const browserShownSchema = z.object(shownFields);
export type BrowserShown = z.infer<typeof browserShownSchema>;

export const browserStateSchema = z.object({ ...shownFields, marks: z.array(markSchema) });
export type BrowserState = z.infer<typeof browserStateSchema>;

/** A call at the browser's door. */
export const doorCallSchema = z.object({
  op: browserOpSchema,
  /** The browser answers by then, in milliseconds, with its page on the way if it takes longer. */
  waitMs: z.int().min(0).max(60_000),
  /** An input with an id is done once. `isRepeat`: the sidecar may have asked before, perhaps an earlier browser. */
  input: z.object({ id: z.string(), isRepeat: z.boolean() }).optional(),
  /** The answer has the page's text too, from this character on. */
  textFrom: z.int().min(0).optional(),
});
export type DoorCall = z.output<typeof doorCallSchema>;

/** The answer of the browser's door. `unavailable`: nothing was done. */
export const doorReplySchema = z.union([
  /** Without `text` nobody asked for it, or the page gave none. */
  z.object({ state: browserStateSchema, text: pageTextSchema.optional() }),
  z.object({
    error: z.string(),
    code: z.enum(["invalid_request", "not_found", "unavailable", "unknown_outcome"]),
  }),
]);
export type DoorReply = z.infer<typeof doorReplySchema>;
