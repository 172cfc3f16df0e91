/** Which versions of claude are good enough. Pure. */
import { INSTALL_COMMAND, MIN_VERSION } from "../../../shared/agent/install.ts";
import type { EngineProblem } from "../../engine.ts";

/** @param outcome what `--version` printed, or how it failed */
export function findVersionProblem(
  program: string,
  outcome: string | NodeJS.ErrnoException,
): EngineProblem | undefined {
  if (typeof outcome !== "string") {
    const how = outcome.code === "ENOENT" ? "was not found" : `does not start: ${firstLine(outcome.message)}`;
    return { code: "engine_missing", message: `${program} ${how}. Install it with: ${INSTALL_COMMAND}` };
  }
  const version = /(?<!\d)\d+\.\d+\.\d+/.exec(outcome)?.[0];
  if (version === undefined) {
    const message = `${program} --version prints no version: ${firstLine(outcome)}. Install it with: ${INSTALL_COMMAND}`;
    return { code: "engine_missing", message };
  }
  if (compare(version, MIN_VERSION) >= 0) return undefined;
  const message = `${program} ${version} is too old: ${MIN_VERSION} or newer is needed. Install it with: ${INSTALL_COMMAND}`;
  return { code: "engine_too_old", message };
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
