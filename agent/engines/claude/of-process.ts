/** Links that lead each program elsewhere: what they lead us to says nothing of what an engine finds there. */
import { lstatSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** The system's files in which each program finds its own. */
const OF_PROCESS = /^\/(?:proc|dev\/(?:fd|std(?:in|out|err)))(?:\/|$)/;
/** As the system has it. */
const MAX_LINKS = 40;
/** No honest link leads through so many folders and links. */
const MAX_STEPS = 100;

export const EACH = "what is another file for each program";

/**
 * Whether a way goes through a program's own files. It is gone step by step as the system goes it, because a `..` behind
 * such a step leads each program elsewhere, and a `..` behind a link leads out of what the link leads to.
 * @param from a real path; the way below it may have links
 */
export function isOfProcess(from: string, way: string): boolean {
  const names = way.split("/");
  let at = from;
  let links = 0;
  for (let steps = 0; names.length > 0; ) {
    if (steps > MAX_STEPS) return true;
    at = join(at, names.shift() ?? "");
    if (OF_PROCESS.test(at)) return true;
    if (links > 0) steps += 1;
    const target = targetOf(at);
    if (target === undefined) continue;
    links += 1;
    if (links > MAX_LINKS) return false;
    at = target.startsWith("/") ? "/" : join(at, "..");
    names.unshift(...target.split("/").filter((name) => name !== "" && name !== "."));
  }
  return false;
}

function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined; // no way leads there
  }
}
