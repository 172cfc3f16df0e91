/** The folders that the sidecar works in, and the token that lies in one of them. */
import { randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { Fault } from "../shared/doctor.ts";
import { errorText } from "../shared/errors.ts";
import { readPrivateFile } from "../shared/private-file.ts";
import { findOtherNames } from "../shared/sandbox/other-names.ts";
import { isInside } from "./threads/directory.ts";

/** One of them is in every folder that was a STATE_DIR before. Nobody but the sidecar writes them. */
const OURS = ["threadmux.db", "token", "relay-token"];
const STICKY = 0o1000;

/**
 * Makes STATE_DIR, or takes one that is there and is for nothing else. scripts/processes.mjs has the same rules, since
 * scripts/run writes there first, before anything is built: a change belongs in both.
 * @throws Error in words for a person.
 */
export function makeStateDir(path: string): void {
  inWords("STATE_DIR", () => {
    refuseWorkTree(path);
    makeFolders(path, 0o700);
    refuseForeignFolder(path);
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700);
  });
}

/**
 * Whether {@link makeStateDir} would take it; nothing is made or changed.
 * @throws Error as it would
 */
export function checkStateDir(path: string): void {
  inWords("STATE_DIR", () => {
    refuseWorkTree(path);
    checkWritable(path);
    refuseForeignFolder(path);
  });
}

function refuseWorkTree(path: string): void {
  const repository = findRepository(realOf(path));
  if (repository === undefined) return;
  throw new Error(
    `it is in the git work tree ${repository}, whose agents would keep copies of it; choose a folder outside of every work tree, such as /var/lib/threadmux`,
  );
}

/** One that is there and is for something else. */
function refuseForeignFolder(path: string): void {
  if (!existsSync(path)) return;
  const { mode, uid } = statSync(path);
  const others = "choose one of its own, such as";
  if ((mode & STICKY) !== 0) throw new Error(`${path} is a shared folder; ${others} ${path}/threadmux`);
  if (uid !== process.getuid?.()) {
    throw new Error(`${path} belongs to another user (id ${uid}); ${others} ${path}/threadmux`);
  }
  if ((mode & 0o077) === 0) return;
  // One that was made by hand for this is empty. Any other may be everybody's, such as a home or /var.
  const names = readdirSync(path);
  if (names.length > 0 && !OURS.some((name) => names.includes(name))) {
    throw new Error(`${path} is open to others and holds other things; ${others} ${path}/threadmux`);
  }
}

/** The folder, or the nearest one above it that is there, takes new files. */
function checkWritable(path: string): void {
  if (!existsSync(path)) checkWritable(dirname(path));
  else if (!statSync(path).isDirectory()) throw new Error(`${path} is not a directory`);
  else accessSync(path, constants.W_OK | constants.X_OK);
}

/**
 * Makes REPOS_DIR.
 * @param stateDir which is there; neither may be in the other, whatever links and mounts lead where
 * @returns it without a link @throws Error in words for a person
 */
export function makeReposDir(path: string, stateDir: string): string {
  inWords("REPOS_DIR", () => makeFolders(path));
  refuseNested(path, stateDir);
  return realpathSync(path);
}

/**
 * Whether {@link makeReposDir} would take it; nothing is made.
 * @throws Error as it would
 */
export function checkReposDir(path: string, stateDir: string): void {
  inWords("REPOS_DIR", () => {
    if (existsSync(path) && !statSync(path).isDirectory()) throw new Error(`${path} is not a directory`);
    if (!existsSync(path)) checkWritable(path);
  });
  refuseNested(path, stateDir);
}

function refuseNested(path: string, stateDir: string): void {
  const [repos, state] = [realOf(path), realOf(stateDir)];
  for (const name of [state, ...findOtherNames(state).map((other) => other.path)]) {
    if (isInside(name, repos)) throw new Error(`REPOS_DIR: ${REPOS_IN_STATE}`);
    if (isInside(repos, name)) throw new Error(`STATE_DIR: ${STATE_IN_REPOS}`);
  }
}

export const REPOS_IN_STATE = "must not be in STATE_DIR, where no agent may read or write";
export const STATE_IN_REPOS = "must not be in REPOS_DIR, where terminals and agents work";

/** The work tree that a folder is in: git takes it for a part of the first one above it that has a `.git`. */
function findRepository(path: string): string | undefined {
  if (existsSync(join(path, ".git"))) return path;
  return dirname(path) === path ? undefined : findRepository(dirname(path));
}

/** A path without a link, of which the end need not be there. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
}

/** With one token for both, the relay would be the owner, and the owner could act in any person's name. */
export const SAME_TOKENS = "must not be the same as VM_TOKEN (or what the token file holds); choose another";

/** @throws Error in words for a person. */
export function readOrMakeToken(file: string): string {
  if (existsSync(file)) {
    const token = readPrivateFile(file).trim();
    const problem = findTokenProblem(file, token);
    if (problem) throw problem;
    return token;
  }
  const token = randomBytes(32).toString("hex");
  writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" });
  return token;
}

/** @returns what is wrong with what a token file holds */
export function findTokenProblem(file: string, token: string): Fault | undefined {
  if (token.length >= 32) return undefined;
  return new Fault(
    `${file} holds no token of at least 32 characters; delete it to get a new one`,
    `rm ${file}`,
  );
}

function inWords(name: string, make: () => void): void {
  try {
    make();
  } catch (error) {
    throw new Error(`${name}: can't be made or used: ${errorText(error)}`, { cause: error });
  }
}

/** As `mkdir -p`. Node's own never returns where a folder is there that takes no other, as /proc (Node 20). */
function makeFolders(path: string, mode = 0o777): void {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw new Error(`${path} is not a directory`);
    return;
  }
  if (dirname(path) !== path) makeFolders(dirname(path), mode);
  mkdirSync(path, { mode });
}
