/** Judges by its version whether an engine's program can be used. Pure. */
import type { ProgramVersion } from "./declaration.ts";

export interface VersionFault {
  code: "engine_missing" | "engine_too_old";
  /** A clause, without how to mend it: the engine's declaration has the command that installs it. */
  says: string;
}

/** @param outcome what the program printed when it was asked for its version, or how it failed */
export function findVersionFault(
  program: string,
  { args, min }: ProgramVersion,
  outcome: string | NodeJS.ErrnoException,
): VersionFault | undefined {
  if (typeof outcome !== "string") {
    const how = outcome.code === "ENOENT" ? "was not found" : `does not start: ${firstLine(outcome.message)}`;
    return { code: "engine_missing", says: `${program} ${how}` };
  }
  const version = findVersion(outcome);
  if (version === undefined)
    return {
      code: "engine_missing",
      says: `${program} ${args.join(" ")} prints no version: ${firstLine(outcome)}`,
    };
  if (min === undefined || compare(version, min) >= 0) return undefined;
  return {
    code: "engine_too_old",
    says: `${program} ${version} is too old: ${min} or newer is needed`,
  };
}

/** The version in what a program prints of itself. */
export function findVersion(printed: string): string | undefined {
  return /(?<!\d)\d+\.\d+\.\d+/.exec(printed)?.[0];
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
