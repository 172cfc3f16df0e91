/** Judges by its version whether a claude can be used. Pure. */
import { MIN_VERSION } from "./engines/claude.ts";

export interface VersionFault {
  code: "engine_missing" | "engine_too_old";
  /** A clause, without how to mend it: that is `INSTALL_COMMAND`. */
  says: string;
}

/** @param outcome what `--version` printed, or how it failed */
export function findVersionFault(
  program: string,
  outcome: string | NodeJS.ErrnoException,
): VersionFault | undefined {
  if (typeof outcome !== "string") {
    const how = outcome.code === "ENOENT" ? "was not found" : `does not start: ${firstLine(outcome.message)}`;
    return { code: "engine_missing", says: `${program} ${how}` };
  }
  const version = /(?<!\d)\d+\.\d+\.\d+/.exec(outcome)?.[0];
  if (version === undefined)
    return { code: "engine_missing", says: `${program} --version prints no version: ${firstLine(outcome)}` };
  if (compare(version, MIN_VERSION) >= 0) return undefined;
  return {
    code: "engine_too_old",
    says: `${program} ${version} is too old: ${MIN_VERSION} or newer is needed`,
  };
}

function compare(a: string, b: string): number {
  const theirs = b.split(".").map(Number);
  for (const [index, part] of a.split(".").map(Number).entries()) {
    if (part !== theirs[index]) return part - (theirs[index] ?? 0);
  }
  return 0;
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0]?.slice(0, 200) ?? "";
}
