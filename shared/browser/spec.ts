/** The files and the socket by which the sidecar and a thread's browser meet, in the thread's folder. */
import * as z from "zod";

export const BROWSER_FILES = {
  /** What the browser is told, see {@link browserSpecSchema}. */
  spec: "browser.json",
  /** What it shows, see `state.ts`. */
  state: "state.json",
  /** The newest picture. */
  picture: "picture.png",
  /** Where it takes {@link BrowserOp}s: one line of JSON in, one out. */
  door: "door.sock",
  /** What it has downloaded; the sidecar's attachments of the thread. */
  attachments: "attachments",
  /** Chromium's own: its profile, and what is left of a process that was killed. */
  profile: "profile",
  scratch: "scratch",
} as const;

export const browserSpecSchema = z.object({
  /** Where it begins. */
  url: z.string(),
  /** Chromium's path. */
  program: z.string(),
  /** As `BROWSER_HOSTS` has them. */
  hosts: z.array(z.string()),
  /** Whether Chromium keeps pages in a sandbox of its own. */
  isSandboxed: z.boolean(),
  /** What all of its processes may take together; above it the largest page is ended. */
  maxMemoryBytes: z.int(),
});
export type BrowserSpec = z.infer<typeof browserSpecSchema>;

/** The picture's size in pixels, and the page's. */
export const VIEW = { width: 1280, height: 800 } as const;
export const MAX_PICTURE_BYTES = 1024 * 1024;
/** How many things of a page have a number. */
export const MAX_MARKS = 99;

/** For a person whose input may have been done, or not. */
export const OUTCOME_UNKNOWN =
  "The browser ended or went silent before it answered, so this was done or it was not: look at the picture before you do it again.";
