/** The paths that a person names for the sandbox `workspace`. */
import { isAbsolute, resolve } from "node:path";
import { splitNames } from "../shared/config.ts";
import { isInside } from "./threads/directory.ts";

/** @param home undefined if there is none, which is a problem of its own */
export function namedPaths(env: Record<string, string>, home: string | undefined, stateDir: string) {
  const problems: string[] = [];
  const pathsOf = (name: string) => {
    const paths = splitNames(env[name] ?? "").map((path) => path.replace(/^~(?=\/)/, home ?? "~"));
    for (const path of paths) {
      if (!isAbsolute(path) || resolve(path) !== path)
        problems.push(`${name}: ${path} must be a whole path, or begin with ~/`);
      else if (isInside(path, stateDir) || isInside(stateDir, path))
        problems.push(`${name}: ${path} must not hold STATE_DIR, or lie in it`);
    }
    return paths;
  };
  const paths = {
    sandboxReads: pathsOf("AGENT_SANDBOX_READ"),
    sandboxWrites: pathsOf("AGENT_SANDBOX_WRITE"),
  };
  return { paths, problems };
}
