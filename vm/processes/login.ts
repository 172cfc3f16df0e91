/** The surroundings of a login, as programs in threads get them: the next best of what is not there. */
import { userInfo } from "node:os";
import { basename, isAbsolute } from "node:path";
import { findProgram } from "../../shared/find-program.ts";

/** Programs that stand in a shell's place to refuse a login. */
const REFUSES_LOGIN = /^(?:nologin|false|true|sync|halt|shutdown|git-shell)$/;

/** The shell that is configured, if it can run commands; else bash, else sh, wherever `path` has them. */
export function findShell(configured: string | undefined, path: string): string {
  const isUsable =
    configured !== undefined && isAbsolute(configured) && !REFUSES_LOGIN.test(basename(configured));
  const wanted = [...(isUsable ? [configured] : []), "/bin/bash", "bash", "/bin/sh", "sh"];
  for (const shell of wanted) {
    const found = findProgram(shell, path);
    if (found !== undefined) return found;
  }
  return "/bin/sh"; // the thread says that it is not there
}

/**
 * The home directory that is configured, else the user's own.
 * @returns undefined if there is none: the user is in no list, or has none in it.
 */
export function findHome(configured: string | undefined, ownHome = findOwnHome()): string | undefined {
  return [configured, ownHome].find((home) => home !== undefined && isAbsolute(home));
}

function findOwnHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined; // the user is in no list, as in containers
  }
}

/** The environment of threads' programs: the variables of every login and those that `THREAD_ENV` names; none else of ours, above all no token. */
export function threadEnv(
  env: Record<string, string | undefined>,
  names: string[],
  home: string,
): Record<string, string> {
  const path = env["PATH"] || "/usr/local/bin:/usr/bin:/bin";
  const picked: Record<string, string> = { PATH: path, LANG: "C.UTF-8" };
  for (const name of ["USER", "LOGNAME", "TZ", "TMPDIR", ...names]) {
    const value = env[name];
    if (value !== undefined && value !== "") picked[name] = value;
  }
  // A shell sets SHELL by itself from the list of users if it is not there, to `nologin` too.
  return { ...picked, HOME: home, SHELL: findShell(env["SHELL"], path) };
}
