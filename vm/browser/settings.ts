/** The settings of browsers. */
import * as z from "zod";
import { OpenedHosts } from "../../shared/browser/hosts.ts";
import { splitNames } from "../../shared/config.ts";
import { errorText } from "../../shared/errors.ts";

export const browserSettings = {
  MAX_BROWSERS: z.coerce
    .number("must be a whole number from 1 to 1000")
    .int()
    .min(1)
    .max(1_000)
    .default(3)
    .describe("How many browsers (`/browser`) may be open at once."),
  BROWSER_PROGRAM: z
    .string()
    .optional()
    .describe(
      "The Chromium of browser threads, by its name on `PATH` or its path. If it is not set: `chromium`, `chromium-browser`, `google-chrome` or `google-chrome-stable`.",
    ),
  BROWSER_HOSTS: z
    .string()
    .default("")
    .superRefine((text, context) => {
      try {
        new OpenedHosts(splitNames(text));
      } catch (error) {
        context.addIssue(errorText(error));
      }
    })
    .describe(
      "Hosts that browsers may reach although they are in a network that is not public, or this machine itself, separated by commas: names (`wiki.lan`, `*.lan`), networks (`10.1.0.0/16`), each with or without a port (`localhost:3000`). If it is empty: none of them.",
    ),
  BROWSER_SANDBOX: z
    .enum(["0", "1"], { error: "must be 1 or 0" })
    .default("1")
    .transform((value) => value === "1")
    .describe(
      "`1`: Chromium keeps pages in its own sandbox, which needs user namespaces. For a sidecar that runs as root it is off. `0`: it is off.",
    ),
};

export interface BrowserSettings {
  maxBrowsers: number;
  /** Undefined: the first Chromium on `PATH`. */
  program: string | undefined;
  /** As `BROWSER_HOSTS` has them. */
  hosts: readonly string[];
  isSandboxed: boolean;
}

export const USUAL_BROWSERS: BrowserSettings = {
  maxBrowsers: 3,
  program: undefined,
  hosts: [],
  isSandboxed: true,
};

export function findBrowserSettings({
  MAX_BROWSERS,
  BROWSER_PROGRAM,
  BROWSER_HOSTS,
  BROWSER_SANDBOX,
}: z.output<z.ZodObject<typeof browserSettings>>): BrowserSettings {
  return {
    maxBrowsers: MAX_BROWSERS,
    program: BROWSER_PROGRAM,
    hosts: splitNames(BROWSER_HOSTS),
    isSandboxed: BROWSER_SANDBOX,
  };
}
