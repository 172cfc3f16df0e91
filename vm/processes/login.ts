/** The surroundings of a login, as programs in threads get them: the next best of what is not there. */
import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { basename, isAbsolute, join } from "node:path";
import { findProgram } from "../../shared/find-program.ts";

/** Programs that stand in a shell's place to refuse a login, or to do one thing alone. */
const REFUSES_LOGIN = /^(?:nologin|false|true|sync|halt|shutdown|git-shell|passwd)$/;
const ELF = "\x7fELF";
/** What a script's first line may take. */
const MAX_HEAD = 256;
/** Terminals whose sequences tmux speaks, the best first. */
const TERMS = [
  "tmux-256color",
  "screen-256color",
  "tmux",
  "screen",
  "xterm-256color",
  "xterm",
  "vt100",
  "dumb",
];
const TERMINFO = ["/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo"];

/** The shell that is configured, if it can run commands; else bash, else sh, wherever `path` has them. */
export function findShell(configured: string | undefined, path: string): string {
  const isUsable = configured !== undefined && isAbsolute(configured) && isShell(configured);
  const wanted = [...(isUsable ? [configured] : []), "/bin/bash", "bash", "/bin/sh", "sh"];
  for (const shell of wanted) {
    const found = findProgram(shell, path);
    if (found !== undefined && canBegin(found)) return found;
  }
  return "/bin/sh"; // the thread says that it is not there
}

/** Some programs do what their link is called: both names count. */
function isShell(file: string): boolean {
  try {
    return ![file, realpathSync(file)].some((name) => REFUSES_LOGIN.test(basename(name)));
  } catch {
    return false; // it leads nowhere
  }
}

/** Whether the kernel begins it: a program, or a script whose interpreter is there. */
function canBegin(file: string): boolean {
  try {
    const head = readHead(file);
    if (!head.startsWith("#!")) return head.startsWith(ELF);
    const [interpreter = ""] = head.slice(2).trim().split(/\s/);
    return isAbsolute(interpreter) && findProgram(interpreter, "") !== undefined;
  } catch {
    return true; // it can be run and not be read: the kernel knows
  }
}

function readHead(file: string): string {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(MAX_HEAD);
    return bytes.toString("latin1", 0, readSync(fd, bytes)).split("\n", 1)[0] ?? "";
  } finally {
    closeSync(fd);
  }
}

/**
 * The home directory that is configured, else the user's own; one that is not there only if neither is.
 * @returns undefined if there is none: the user is in no list, or has none in it.
 */
export function findHome(configured: string | undefined, ownHome = findOwn()?.homedir): string | undefined {
  const homes = [configured, ownHome].filter((home) => home !== undefined && isAbsolute(home));
  return homes.find((home) => isDirectory(home)) ?? homes.find((home) => isDirectory(home) === undefined);
}

/** @returns undefined if nothing is there */
function isDirectory(path = ""): boolean | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory();
  } catch {
    return false; // it can't be reached
  }
}

function findOwn(): { homedir: string; username: string } | undefined {
  try {
    return userInfo();
  } catch {
    return undefined; // the user is in no list, as in containers
  }
}

/**
 * The best terminal that programs on this machine know: without an entry of its own they would draw nothing.
 * @param env of the threads' programs
 */
export function findTerm(env: Readonly<Record<string, string>>, all: readonly string[] = TERMINFO): string {
  const folders = [env["TERMINFO"] ?? join(env["HOME"] ?? "/", ".terminfo"), ...all];
  const isKnown = (term: string): boolean =>
    // Some systems name the folder by the letter's number.
    [term.charAt(0), term.charCodeAt(0).toString(16)].some((letter) =>
      folders.some((folder) => isDirectory(join(folder, letter, term)) === false),
    );
  return TERMS.find(isKnown) ?? "tmux-256color";
}

/** The environment of threads' programs: the variables of every login and those that `THREAD_ENV` names; none else of ours, above all no token. */
export function threadEnv(
  env: Record<string, string | undefined>,
  names: string[],
  home: string,
): Record<string, string> {
  const path = env["PATH"] || "/usr/local/bin:/usr/bin:/bin";
  const picked: Record<string, string> = { PATH: path, LANG: "C.UTF-8" };
  const user = env["USER"] || env["LOGNAME"] || findOwn()?.username;
  if (user) Object.assign(picked, { USER: user, LOGNAME: env["LOGNAME"] || user });
  for (const name of ["TZ", ...(isUsableFolder(env["TMPDIR"]) ? ["TMPDIR"] : []), ...names]) {
    const value = env[name];
    if (value !== undefined && value !== "") picked[name] = value;
  }
  // A shell sets SHELL by itself from the list of users if it is not there, to `nologin` too.
  return { ...picked, HOME: home, SHELL: findShell(env["SHELL"], path) };
}

/** Takes a `TMPDIR` that is of no use out of the environment of this process: Node takes `/tmp` then, as programs do. */
export function dropUselessTmpdir(env: Record<string, string | undefined>): void {
  if (!isUsableFolder(env["TMPDIR"])) delete env["TMPDIR"];
}

/** Whether it is there and takes files. */
function isUsableFolder(path: string | undefined): boolean {
  if (path === undefined || !isAbsolute(path)) return false;
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return isDirectory(path) === true;
  } catch {
    return false; // not there, or not ours to write to
  }
}
