/** Runs ripgrep, which comes with threadmux. It obeys .gitignore, follows no link, and runs nothing of a repository. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { onAbort } from "../../../../shared/lifecycle.ts";
import { looksSecret } from "../../../../shared/sandbox/secrets.ts";
import { inDirectory } from "../../../process/directory.ts";
import { quotedName } from "./names.ts";
import { worded } from "./open-file.ts";
import type { ToolContext } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { findPlace, findProblem } from "./where.ts";

const MAX_MS = 30_000;
const MAX_PROBLEM_UNITS = 1_000;
/** A name or a line that is longer is no use to anybody. */
const MAX_RECORD_BYTES = 1024 * 1024;

/** Where is searched: a folder with all in it, or a file of it. */
export interface Searched {
  /** A real path. */
  folder: string;
  file: string | undefined;
}

export async function findSearched(named: string, context: ToolContext): Promise<Searched> {
  const path = findPlace(named, context, "read");
  const stat = await worded(quotedName(named), () => lstat(path));
  if (stat.isDirectory()) return { folder: path, file: undefined };
  if (!stat.isFile()) throw new ToolError(`${quotedName(named)} is neither a directory nor a file.`);
  return { folder: dirname(path), file: basename(path) };
}

/** Whether a search looks at the file: one that looks like a secret is left out, unless it is named by itself. */
export function isSearched(path: string, { folder, file }: Searched, context: ToolContext): boolean {
  if (file === undefined && looksSecret(path)) return false;
  return findProblem(join(folder, path), context, "read") === undefined;
}

export interface FoundFiles {
  /** Below the folder. */
  paths: string[];
  /** There are more. */
  isCut: boolean;
}

/** The files of a folder that git would not ignore, the one that was changed last first. */
export async function listFiles(
  searched: Searched,
  context: ToolContext,
  fits: (path: string) => boolean,
  max: number,
): Promise<FoundFiles & { more: number }> {
  if (searched.file !== undefined) return { paths: [searched.file].filter(fits), isCut: false, more: 0 };
  const paths: string[] = [];
  let more = 0;
  const args = ["--files", "--null", "--sortr", "modified", ...ignoring(searched.folder), "./"];
  const { isCut } = await runRipgrep(args, searched.folder, context, "\0", (record) => {
    const path = record.toString("utf8").replace(/^\.\//, "");
    if (!isSearched(path, searched, context) || !fits(path)) return true;
    if (paths.length < max) paths.push(path);
    else more++;
    return true;
  });
  return { paths, isCut, more };
}

/** Outside of a repository the .gitignore files of what is searched count, and none above it. */
export function ignoring(folder: string): string[] {
  let at = folder;
  while (!existsSync(join(at, ".git")) && at !== dirname(at)) at = dirname(at);
  const isRepository = existsSync(join(at, ".git"));
  return ["--hidden", "--glob", "!.git", ...(isRepository ? [] : ["--no-require-git", "--no-ignore-parent"])];
}

/**
 * Calls `take` with each record of its output until that gives false.
 * @returns whether it was stopped before its end, by `take` or because it took too long
 * @throws ToolError if it refuses what it was given
 */
export async function runRipgrep(
  args: readonly string[],
  folder: string,
  { env, signal }: Pick<ToolContext, "env" | "signal">,
  end: "\0" | "\n",
  take: (record: Buffer) => boolean,
): Promise<{ isCut: boolean }> {
  signal.throwIfAborted();
  const program = findRipgrep();
  const child = inDirectory(folder, (cwd) =>
    spawn(program, ["--no-config", "--no-messages", ...args], {
      cwd,
      // The person's own list of what git ignores is in the home.
      env: { HOME: env["HOME"] ?? "/", PATH: env["PATH"] ?? "" },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  let isCut = false;
  const stop = () => {
    isCut = true;
    child.kill("SIGKILL");
  };
  const timer = setTimeout(stop, MAX_MS);
  onAbort(signal, stop);
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (said.length < MAX_PROBLEM_UNITS) said += chunk.toString("utf8");
  });
  const records = new Records(end, take);
  child.stdout.on("data", (chunk: Buffer) => {
    if (!isCut && !records.push(chunk)) stop();
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal.throwIfAborted();
    if (!isCut && !records.end()) isCut = true;
    if (code === 2 && said !== "")
      throw new ToolError(`ripgrep says: ${said.trim().slice(0, MAX_PROBLEM_UNITS)}`);
    return { isCut };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** @throws ToolError if it was not installed */
export function findRipgrep(): string {
  const path = ripgrepPath();
  if (path !== undefined) return path;
  throw new ToolError("ripgrep is not installed: threadmux was installed without its optional packages.");
}

/** The folder that its program needs to be seen in, if it is installed. */
export function ripgrepFolder(): string | undefined {
  const path = ripgrepPath();
  return path === undefined ? undefined : dirname(dirname(path));
}

/** Its package for this machine has nothing but the program. */
function ripgrepPath(): string | undefined {
  try {
    const name = `@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`;
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

class Records {
  readonly #end: number;
  readonly #take: (record: Buffer) => boolean;
  #open: Buffer[] = [];
  #openBytes = 0;

  constructor(end: string, take: (record: Buffer) => boolean) {
    this.#end = end.charCodeAt(0);
    this.#take = take;
  }

  push(chunk: Buffer): boolean {
    let start = 0;
    for (let at = chunk.indexOf(this.#end); at >= 0; at = chunk.indexOf(this.#end, start)) {
      this.#add(chunk.subarray(start, at));
      start = at + 1;
      if (!this.end()) return false;
    }
    this.#add(chunk.subarray(start));
    return true;
  }

  /** Takes the bytes since the last record as a record too. */
  end(): boolean {
    if (this.#openBytes === 0) return true;
    const record = Buffer.concat(this.#open);
    this.#open = [];
    this.#openBytes = 0;
    return this.#take(record);
  }

  #add(part: Buffer): void {
    if (part.length === 0 || this.#openBytes + part.length > MAX_RECORD_BYTES) return;
    this.#open.push(part);
    this.#openBytes += part.length;
  }
}
