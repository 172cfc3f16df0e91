/** `threadmux backup` under load, and what `restore` makes of it; and all that may stand in their way. */
import { execFile } from "node:child_process";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, promisify } from "node:util";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "../../shared/errors.ts";
import { backUp } from "../../vm/backup/backup.ts";
import { restore } from "../../vm/backup/restore.ts";
import { NEWEST_VERSION } from "../../vm/store/migrations.ts";
import { BYPASS_CONFIG, openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { canMount, mountDisk } from "../support/small-disk.ts";
import { openTerminal, readAll, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const run = promisify(execFile);
/** A second of work, and then another one. */
const ROUNDS = Array.from({ length: 200 }, (_, n) => ({
  tools: [{ name: "Bash", input: { command: `sleep 0.02; echo ${n}`, description: "d" } }],
}));

let sidecar: TestSidecar;
/** A backup of a state folder with a terminal and an agent that have ended their work. */
let file: string;
let count = 0;
const place = () => join(sidecar.folders.path, `x${count++}`);

beforeAll(async () => {
  process.env["LC_ALL"] = "C"; // as the command line does
  sidecar = await startSidecar(BYPASS_CONFIG);
});
afterAll(() => sidecar?.close());

interface Row {
  [column: string]: unknown;
}

/** Every row of every table. */
function rowsOf(stateDir: string): Record<string, Row[]> {
  const db = new Database(join(stateDir, "threadmux.db"), { readonly: true });
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all();
    return Object.fromEntries(
      tables.map((name) => [name, db.prepare(`SELECT * FROM "${name}" ORDER BY rowid`).all() as Row[]]),
    );
  } finally {
    db.close();
  }
}

/** A copy in another folder has markers of its own: the processes by the old ones are the original's. */
function withoutMarkers(rows: Record<string, Row[]>): Record<string, Row[]> {
  return { ...rows, threads: rows["threads"]?.map(({ marker: _, ...row }) => row) ?? [] };
}
const markersOf = (stateDir: string) => rowsOf(stateDir)["threads"]?.map((row) => row["marker"]) ?? [];

/** Every file below these folders, with its bytes. */
function filesOf(stateDir: string, folders: readonly string[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (const folder of folders) {
    if (!existsSync(join(stateDir, folder))) continue;
    for (const entry of readdirSync(join(stateDir, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) files[path.slice(stateDir.length)] = readFileSync(path, "latin1");
    }
  }
  return files;
}

test("under load: all that the database tells of is in the copy, three times in a row", async () => {
  const { client, stateDir } = sidecar;
  const flood =
    "i=0; while :; do i=$((i+1)); echo line $i of a flood; [ $((i % 500)) = 0 ] && sleep 0.01; done";
  for (const id of ["flood-1", "flood-2"]) await openTerminal(client, id, flood);
  await openAgent(sidecar, "busy", script("Work", ...ROUNDS), {
    agent: { permissionMode: "bypassPermissions" },
  });
  await until("the agent to work", async () => (await transcriptOf(sidecar, "busy")).length > 10);
  for (let round = 0; round < 3; round++) {
    const before = await client.getThread("flood-1");
    const [made, dir] = [await backUp(stateDir, place()), place()];
    expect(statSync(made.file).mode & 0o777).toBe(0o600);
    expect(await restore(made.file, dir)).toMatchObject({ dir, threads: 3, movedFrom: stateDir });
    const { threads, agents } = rowsOf(dir);
    // The restored state is that of the backup's moment: the archive's database, and the ends of growing files then.
    const inside = place();
    mkdirSync(inside);
    await run("tar", ["-xf", made.file, "-C", inside, "threadmux.db", "threadmux-backup.json"]);
    expect(withoutMarkers(rowsOf(dir))).toEqual(withoutMarkers(rowsOf(inside)));
    expect(new Set([...markersOf(dir), ...markersOf(inside)]).size).toBe(6);
    const { ends } = JSON.parse(readFileSync(join(inside, "threadmux-backup.json"), "utf8"));
    expect(Object.keys(ends).sort()).toEqual([
      ...["logs/busy.log", "logs/flood-1.log", "logs/flood-2.log"],
      ...["threads/busy/inbox.jsonl", "threads/busy/transcript.jsonl"],
    ]);
    for (const [name, end] of Object.entries(ends))
      expect([name, statSync(join(dir, name)).size]).toEqual([name, end]);
    // The archive holds no token of a thread.
    const token =
      /Bearer [\w.-]+/.exec(readFileSync(join(stateDir, "threads/busy/mcp.json"), "utf8"))?.[0] ?? "?";
    expect(readFileSync(made.file).indexOf(token.slice("Bearer ".length))).toBe(-1);
    expect(threads?.map((row) => row["thread_id"]).sort()).toEqual(["busy", "flood-1", "flood-2"]);
    for (const id of ["flood-1", "flood-2"]) {
      const copied = readFileSync(join(dir, "logs", `${id}.log`));
      const live = readFileSync(join(stateDir, "logs", `${id}.log`));
      expect(live.subarray(0, copied.length).equals(copied)).toBe(true);
      if (id === "flood-1") expect(copied.length).toBeGreaterThanOrEqual(before.offset);
    }
    const transcript = readFileSync(join(dir, "threads/busy/transcript.jsonl"), "utf8");
    expect(readFileSync(join(stateDir, "threads/busy/transcript.jsonl"), "utf8").startsWith(transcript)).toBe(
      true,
    );
    expect(transcript.endsWith("\n")).toBe(true);
    expect(Buffer.byteLength(transcript)).toBeGreaterThanOrEqual(Number(agents?.[0]?.["transcript_bytes"]));
    const inbox = readFileSync(join(dir, "threads/busy/inbox.jsonl"), "utf8");
    expect(inbox).toContain("Work");
    await servedAs(made.file, ends);
  }
}, 120_000);

/** Another sidecar serves what was copied while all of it grew: to the byte as it was at the backup's moment. */
async function servedAs(archive: string, ends: Record<string, number>): Promise<void> {
  const folders = makeSidecarFolders("l");
  await restore(archive, folders.stateDir);
  const copied = readFileSync(join(folders.stateDir, "threads/busy/transcript.jsonl"), "utf8");
  const env = { ...folders.env, REPOS_DIR: sidecar.reposDir };
  const other = await startSidecar(
    { ...BYPASS_CONFIG, reposDir: sidecar.reposDir },
    { folders: { ...folders, env } },
  );
  try {
    // They go on where they run: nothing of them is the copy's.
    for (const id of ["flood-1", "flood-2", "busy"])
      expect([id, (await sidecar.client.getThread(id)).status]).toEqual([id, "running"]);
    for (const id of ["flood-1", "flood-2"]) {
      const end = ends[`logs/${id}.log`];
      expect(await other.client.getThread(id)).toMatchObject({ status: "lost", offset: end });
      const { output, offset } = await readAll(other.client, id);
      const live = readFileSync(join(sidecar.stateDir, "logs", `${id}.log`)).subarray(0, end);
      expect([offset, output === live.toString()]).toEqual([end, true]);
    }
    // The agent goes on from where it was then.
    const lines = copied.trimEnd().split("\n");
    const events = await transcriptOf(other, "busy");
    expect(events.slice(0, lines.length)).toEqual(lines.map((line) => JSON.parse(line)));
  } finally {
    await other.close();
  }
}

test("a restored folder is a sidecar's: every thread, offset, transcript and row equal", async () => {
  const { client, stateDir } = sidecar;
  for (const id of ["flood-1", "flood-2", "busy"]) await client.killThread(id);
  await openTerminal(client, "done", "echo all of it; exit 3");
  await untilOutput(client, "done", "all of it");
  await openAgent(sidecar, "idle", script("Say it", { text: "said" }));
  await untilStatus(sidecar, "idle", "idle");
  const threads = (await client.listThreads({ status: "all" })).map(({ threadId, title, status }) => [
    threadId,
    title,
    status,
  ]);
  const [output, transcript] = [await readAll(client, "done"), await transcriptOf(sidecar, "idle")];
  await sidecar.stop();
  const rows = rowsOf(stateDir);
  const kept = ["logs", "runs", "threads", "trust", "spend"];
  let files: Record<string, string> = {};
  // The agent's runner goes on, and may still write down what it knows.
  await until("a backup while nothing was written", async () => {
    files = filesOf(stateDir, kept);
    ({ file } = await backUp(stateDir, place()));
    return isDeepStrictEqual(filesOf(stateDir, kept), files);
  });
  const folders = makeSidecarFolders("r");
  await restore(file, folders.stateDir);
  expect(withoutMarkers(rowsOf(folders.stateDir))).toEqual(withoutMarkers(rows));
  // A thread's token for its tools is made anew.
  const isToken = (name: string) => name.endsWith("/mcp.json");
  expect(Object.keys(files).some(isToken)).toBe(true);
  expect(filesOf(folders.stateDir, kept)).toEqual(
    Object.fromEntries(Object.entries(files).filter(([name]) => !isToken(name))),
  );
  expect(readdirSync(folders.stateDir)).not.toContain("token");

  const env = { ...folders.env, REPOS_DIR: sidecar.reposDir };
  const other = await startSidecar(
    { ...BYPASS_CONFIG, reposDir: sidecar.reposDir },
    { folders: { ...folders, env } },
  );
  try {
    const found = await other.client.listThreads({ status: "all" });
    expect(found.map(({ threadId, title, status }) => [threadId, title, status])).toEqual(threads);
    expect(await readAll(other.client, "done")).toEqual(output);
    // A runner of its own may already have written that the agent's program is not there.
    const events = await transcriptOf(other, "idle");
    expect(events.slice(0, transcript.length)).toEqual(transcript);
    await other.client.sendInput("idle", { text: script("Go on", { text: "from the copy" }) });
    // Its program's own conversation lies in the home directory, which is another one here.
    const ends = async () => (await transcriptOf(other, "idle")).filter(({ type }) => type === "turn_end");
    await until("the agent to go on", async () => (await ends()).length === 2);
  } finally {
    await other.close();
  }
}, 60_000);

/** The sentence by which it was refused. */
async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  return (error as AppError).message;
}

test("what can't be backed up is said in words, and leaves nothing", async () => {
  const { stateDir } = sidecar;
  const folder = place();
  mkdirSync(folder);
  const there = join(folder, "there.tar");
  writeFileSync(there, "mine");
  symlinkSync("nowhere", join(folder, "link.tar"));
  expect(await refusalOf(backUp(stateDir, there))).toBe(`${there} is there already; choose another name`);
  expect(await refusalOf(backUp(stateDir, join(folder, "no/x.tar")))).toMatch(
    /no is not there; make it first$/,
  );
  expect(await refusalOf(backUp(stateDir, join(folder, "link.tar")))).toMatch(/choose another name$/);
  expect(await refusalOf(backUp(stateDir, join(stateDir, "x.tar")))).toMatch(
    /must not be in the state folder/,
  );
  expect(await refusalOf(backUp(folder, join(folder, "x.tar")))).toMatch(/is no state folder.*--state-dir$/);
  const stop = AbortSignal.abort();
  await expect(backUp(stateDir, join(folder, "x.tar"), stop)).rejects.toThrow();
  expect(readFileSync(there, "utf8")).toBe("mine");
  expect(readdirSync(folder).sort()).toEqual(["link.tar", "there.tar"]);
});

test.runIf(canMount)("a full disk is said in words, and nothing is kept there", async () => {
  const folder = place();
  const disk = mountDisk(folder, 1);
  try {
    expect(await refusalOf(backUp(sidecar.stateDir, join(folder, "x.tar")))).toBe(
      "the disk is full; nothing was kept",
    );
    expect(await refusalOf(restore(file, join(folder, "s")))).toBe("the disk is full; nothing was kept");
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    disk.unmount();
  }
});

/** The backup with other bytes in one place: its header stays as long. */
function forged(from: string, to: string): string {
  const path = place();
  cpSync(file, path);
  const fd = openSync(path, "r+");
  const head = Buffer.alloc(4_096);
  readSync(fd, head, 0, head.length, 0);
  const at = head.indexOf(from);
  expect(at).toBeGreaterThan(0);
  writeSync(fd, to, at);
  closeSync(fd);
  return path;
}

test("what can't be restored is said in words, and leaves nothing", async () => {
  const parent = place();
  mkdirSync(parent);
  const dir = join(parent, "s");
  const text = place();
  writeFileSync(text, "no backup at all\n".repeat(100));
  expect(await refusalOf(restore(place(), dir))).toMatch(/is not there$/);
  expect(await refusalOf(restore(text, dir))).toBe(`${text} is no backup that threadmux backup has made`);
  expect(await refusalOf(restore(parent, dir))).toMatch(/is no backup/);
  const other = place();
  await run("tar", ["-cf", other, "-C", sidecar.stateDir, "logs"]);
  expect(await refusalOf(restore(other, dir))).toMatch(/is no backup/);
  const newer = forged('"format": 1', '"format": 9');
  expect(await refusalOf(restore(newer, dir))).toMatch(
    /was made by a newer threadmux.*restore it with that one$/,
  );
  const newerRows = forged(`"databaseVersion": ${`${NEWEST_VERSION}`[0]}`, '"databaseVersion": 9');
  expect(await refusalOf(restore(newerRows, dir))).toMatch(/was made by a newer threadmux/);
  const cut = place();
  writeFileSync(cut, readFileSync(file).subarray(0, statSync(file).size / 2));
  expect(await refusalOf(restore(cut, dir))).toMatch(/is cut off/);
  expect(readdirSync(parent)).toEqual([]);

  const full = join(parent, "full");
  mkdirSync(full, { mode: 0o700 });
  writeFileSync(join(full, "threadmux.db"), "mine");
  expect(await refusalOf(restore(file, full))).toMatch(/is not empty: move it away.*nothing was changed$/);
  const running = await startSidecar();
  try {
    expect(await refusalOf(restore(file, running.stateDir))).toMatch(/a sidecar runs on .*end it first/);
  } finally {
    await running.close();
  }
  expect(await refusalOf(restore(file, "/tmp"))).toMatch(/\/tmp is a shared folder/);
  expect(readdirSync(full)).toEqual(["threadmux.db"]);
  const empty = join(parent, "empty");
  mkdirSync(empty, { mode: 0o700 });
  expect(await restore(file, empty)).toMatchObject({ dir: empty });
});

test("from the command line", async () => {
  const program = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
  const env = { ...sidecar.folders.env, LC_ALL: "de_DE.UTF-8" };
  const cwd = sidecar.folders.home;
  const cli = (...args: string[]) => run(process.execPath, [program, ...args], { env, cwd });
  const { stdout } = await cli("--json", "backup", "b.tar");
  expect(JSON.parse(stdout)).toMatchObject({
    file: join(cwd, "b.tar"),
    bytes: statSync(join(cwd, "b.tar")).size,
  });
  const again = await cli("backup", "b.tar").catch((error: unknown) => error);
  expect(again).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^threadmux: .*b\.tar is there already/),
  });
  const restored = await cli("restore", "b.tar", "--to", "copy");
  expect(restored).toMatchObject({
    stdout: `${join(cwd, "copy")}\n`,
    stderr: expect.stringMatching(/threads, as they were/),
  });
  expect(withoutMarkers(rowsOf(join(cwd, "copy")))).toEqual(withoutMarkers(rowsOf(sidecar.stateDir)));
  // In its own place again it is the same to the byte: threads' programs that are left there are ended by the sidecar.
  renameSync(sidecar.stateDir, `${sidecar.stateDir}.old`);
  try {
    await cli("restore", "b.tar", "--to", sidecar.stateDir);
    expect(rowsOf(sidecar.stateDir)).toEqual(rowsOf(`${sidecar.stateDir}.old`));
  } finally {
    rmSync(sidecar.stateDir, { recursive: true, force: true });
    renameSync(`${sidecar.stateDir}.old`, sidecar.stateDir);
  }
});
