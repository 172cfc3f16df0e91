/** Finds the Chromium of browser threads. */
import { findProgram } from "../../shared/find-program.ts";

/** Its names on `PATH`. */
const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** @param named a name or a path @returns undefined if there is none */
export function findChromium(named: string | undefined, path: string): string | undefined {
  for (const name of named === undefined ? NAMES : [named]) {
    const program = findProgram(name, path);
    if (program !== undefined) return program;
  }
  return undefined;
}

/** Why there is none, a clause. */
export function whyNoChromium(named: string | undefined): string {
  return named === undefined
    ? "there is no Chromium on the sidecar's machine"
    : `${named}, which BROWSER_PROGRAM names, is not there or can't be run`;
}
