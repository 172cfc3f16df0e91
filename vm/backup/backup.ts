/**
 * A backup of a state folder while sidecar, runners and programs go on.
 *
 * Effects are copied before their causes: first the database, then transcripts and what runners know, then everything
 * else. Files only grow, so all that the database says of a log, and a transcript of an inbox, is in the copy. The copy
 * also says where they ended when the database was copied; what is behind that is cut off when it is restored. A thread
 * that was removed meanwhile, or whose log was written anew, makes the whole copy begin again.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { BackupDone } from "../../shared/backup.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { WORK_FOLDERS } from "../../shared/user-space.ts";
import { copyDatabase, type LogStart, listLogStarts, setFirstOffsets } from "../store/copy.ts";
import { isInside } from "../threads/directory.ts";
import { DATABASE, MANIFEST, makeManifest } from "./manifest.ts";
import { diskFull, tar } from "./tar.ts";

/** Files that only a sidecar that runs has or that it makes anew, and secrets: a restored folder gets its own tokens. */
const LEFT_OUT = [
  /^(token|relay-token|console-sessions\.json|local-discord\.env|run\.json)$/,
  /^(lock|tmux\.(sock|pid)|sandbox-probe|board|locks|places|branches)$/,
  /^(threadmux|memory-index)\.db/, // the second one is made anew
];
/** Files of a thread's folder that its other files led to. */
const EFFECTS = ["transcript.jsonl", "state.json", "live.json", "status.json"];
/** A thread's token for its tools: its next engine gets another one. */
const SECRETS = ["mcp.json"];
const TRIES = 5;

/**
 * @param signal gives up; nothing is left then
 * @throws AppError `invalid_request` if the folder is no state folder or the file can't be made there; `internal` in
 *   words for a person, with nothing kept
 */
export async function backUp(stateDir: string, target: string, signal?: AbortSignal): Promise<BackupDone> {
  const file = resolve(target);
  refuseTarget(file, stateDir);
  const state = realpathSync(stateDir);
  const staging = makeStaging(file);
  const part = join(staging, "backup.tar");
  try {
    let threads: number | undefined;
    for (let tries = 0; threads === undefined && tries < TRIES; tries++)
      threads = await tryOnce(state, staging, part, signal);
    if (threads === undefined)
      throw new AppError(
        "internal",
        "threads were removed whenever it was copied: try again; nothing was kept",
      );
    chmodSync(part, 0o600);
    sync(part);
    giveName(part, file);
    sync(dirname(file));
    return { file, bytes: statSync(file).size, threads };
  } catch (error) {
    throw explained(error, file);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function refuseTarget(file: string, stateDir: string): void {
  const refuse = (words: string) => new AppError("invalid_request", words);
  if (!existsSync(join(stateDir, DATABASE)))
    throw refuse(`${stateDir} is no state folder: it has no ${DATABASE}; name the right one by --state-dir`);
  if (existsSync(file)) throw refuse(`${file} is there already; choose another name`);
  if (!existsSync(dirname(file))) throw refuse(`${dirname(file)} is not there; make it first`);
  if (isInside(realpathSync(stateDir), realpathSync(dirname(file))))
    throw refuse(`${file} must not be in the state folder ${stateDir}`);
}

/** Beside the file, so that it can be given its name at the end, for the owner's eyes alone. */
function makeStaging(file: string): string {
  try {
    return mkdtempSync(join(dirname(file), `.${basename(file)}.part-`));
  } catch (cause) {
    throw new AppError("invalid_request", `${file} can't be made: ${errorText(cause)}`, { cause });
  }
}

/** @returns how many threads are in it; undefined if it must begin again */
async function tryOnce(
  state: string,
  staging: string,
  part: string,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const live = join(state, DATABASE);
  const copy = join(staging, DATABASE);
  for (const left of [part, copy]) rmSync(left, { force: true });
  const databaseVersion = await copyDatabase(live, copy);
  const starts = listLogStarts(copy);
  const ends = endsOf(state);
  const manifest = makeManifest({
    ends,
    databaseVersion,
    stateDir: state,
    madeAt: new Date().toISOString(),
    threads: starts.length,
  });
  writeFileSync(join(staging, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  const wanted = filesOf(state, starts);
  const archive = ["--format=gnu", "--sparse", `--file=${part}`];
  await tar(["--create", ...archive, "-C", staging, MANIFEST], signal);
  await appendEffects(state, staging, archive, signal);
  await tar(["--append", ...archive, ...exceptEffects(), "-C", state, "--", ...namesIn(state)], signal);
  if (!isStillSo(starts, listLogStarts(live), copy)) return undefined;
  await tar(["--append", ...archive, "-C", staging, DATABASE], signal);
  return (await holds(part, wanted)) ? starts.length : undefined;
}

/**
 * Where the files end that only grow, at one moment: all that the copied database says of them lies before that.
 * Transcripts are looked at before the inboxes that they come from.
 */
function endsOf(state: string): Record<string, number> {
  const list = (folder: string) => (existsSync(join(state, folder)) ? readdirSync(join(state, folder)) : []);
  const threads = list("threads");
  const names = [
    ...list("logs").flatMap((name) => (name.endsWith(".log") ? [join("logs", name)] : [])),
    ...["transcript.jsonl", "inbox.jsonl"].flatMap((name) => threads.map((id) => join("threads", id, name))),
  ];
  return Object.fromEntries(
    names.flatMap((name) => {
      const found = statSync(join(state, name), { throwIfNoEntry: false });
      return found?.isFile() ? [[name, found.size]] : [];
    }),
  );
}

function namesIn(state: string): string[] {
  return readdirSync(state).filter((name) => !LEFT_OUT.some((pattern) => pattern.test(name)));
}

async function appendEffects(
  state: string,
  staging: string,
  archive: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const root = join(state, "threads");
  const folders = existsSync(root) ? readdirSync(root) : [];
  const names = folders.flatMap((folder) => EFFECTS.map((name) => join("threads", folder, name)));
  const there = names.filter((name) => existsSync(join(state, name)));
  if (there.length === 0) return;
  const list = join(staging, "effects");
  writeFileSync(list, there.map((name) => `${name}\0`).join(""));
  const from = ["--null", "--verbatim-files-from", `--files-from=${list}`];
  await tar(["--append", "--ignore-failed-read", ...archive, "-C", state, "--no-recursion", ...from], signal);
}

/** They are in the archive: a newer one would know of causes that are not. */
function exceptEffects(): string[] {
  const patterns = [...EFFECTS, ...SECRETS].map((name) => `--exclude=threads/*/${name}`);
  return ["--anchored", "--wildcards", "--no-wildcards-match-slash", ...patterns];
}

/** Files that the copied rows tell of and that were there when the database was copied. */
function filesOf(state: string, starts: readonly LogStart[]): string[] {
  const names = starts.flatMap(({ threadId, hasTurns }) => [
    `logs/${threadId}.log`,
    ...(hasTurns ? [`threads/${threadId}/thread.json`, `threads/${threadId}/transcript.jsonl`] : []),
  ]);
  return names.filter((name) => existsSync(join(state, name)));
}

/** A log's start may have been given back meanwhile: the copy has a hole there, and its row shall say so. */
function isStillSo(before: readonly LogStart[], now: readonly LogStart[], copy: string): boolean {
  const byId = new Map(now.map((start) => [start.threadId, start]));
  const pairs = before.map((was) => ({ was, is: byId.get(was.threadId) }));
  if (!pairs.every(({ was, is }) => is?.logBase === was.logBase)) return false;
  const moved = pairs.flatMap(({ was, is }) => (is && is.firstOffset !== was.firstOffset ? [is] : []));
  if (moved.length > 0) setFirstOffsets(copy, moved);
  return true;
}

async function holds(part: string, names: readonly string[]): Promise<boolean> {
  const found = new Set(
    (
      await tar([
        "--list",
        `--file=${part}`,
        ...Object.values(WORK_FOLDERS).map((name) => `--exclude=${name}/*`),
      ])
    ).split("\n"),
  );
  return names.every((name) => found.has(name));
}

/** Never over a file that came meanwhile, where the file system has links. */
function giveName(part: string, file: string): void {
  try {
    linkSync(part, file);
  } catch (error) {
    if (!/^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS)$/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    renameSync(part, file);
  }
}

function sync(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function explained(error: unknown, file: string): unknown {
  const { code = "" } = error as { code?: string };
  if (code === "ENOSPC" || code === "EDQUOT" || code === "SQLITE_FULL") return diskFull(error);
  if (code === "EEXIST")
    return new AppError("invalid_request", `${file} came to be meanwhile; choose another name`);
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code))
    return new AppError("internal", `the database is damaged (${errorText(error)}); nothing was kept`, {
      cause: error,
    });
  return error;
}
