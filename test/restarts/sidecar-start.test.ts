import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import Database from "better-sqlite3";
import { afterEach, describe, expect, test } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import { parseVmConfig } from "../../vm/config.ts";
import {
  makeSidecarFolders,
  type SidecarFolders,
  spawnMain,
  spawnSidecar,
  startSidecar,
} from "../support/sidecar.ts";
import { openTerminal, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function makeFolders(stateName?: string): SidecarFolders {
  const folders = makeSidecarFolders(stateName);
  cleanups.push(folders.close);
  return folders;
}

/** Runs the sidecar's program until it ends by itself. */
async function runToEnd(env: Record<string, string>): Promise<{ exitCode: number | null; stderr: string }> {
  const child = spawnMain(env);
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const stderr = child.stderr ? await readText(child.stderr) : "";
  return { exitCode: await exited, stderr };
}

describe("a configuration that can't work", () => {
  test("is refused with every problem at once, one a line, and exit code 2", async () => {
    const { env } = makeFolders();
    const { exitCode, stderr } = await runToEnd({
      ...env,
      STATE_DIR: `/tmp/${"long/".repeat(25)}`,
      VM_PORT: "70000",
      VM_HOST: "0.0.0.0",
      VM_TOKEN: "short",
      MAX_THREADS: "many",
      LOG_RETENTION_HOURS: "0",
      AGENT_ARGS: "--name 'open",
      THREAD_ENV: "GOOD,B@D",
      LOG_LEVEL: "loud",
    });
    const lines = stderr.trim().split("\n");
    const variables =
      "STATE_DIR VM_PORT VM_TOKEN MAX_THREADS LOG_RETENTION_HOURS AGENT_ARGS THREAD_ENV LOG_LEVEL";
    for (const variable of variables.split(" ")) {
      expect(lines.filter((line) => line.startsWith(`threadmux vm: ${variable}: `))).toHaveLength(1);
    }
    expect(lines).toHaveLength(8);
    expect(stderr).not.toContain("short");
    expect(exitCode).toBe(2);
  });

  // Promise: S10
  test.each(["--permission-mode bypassPermissions", "--dangerously-skip-permissions"])(
    "AGENT_ARGS=%s needs ALLOW_BYPASS=1",
    (args) => {
      const { env } = makeFolders();
      expect(() => parseVmConfig({ ...env, AGENT_ARGS: args })).toThrow(/AGENT_ARGS: .*ALLOW_BYPASS=1/);
      expect(parseVmConfig({ ...env, AGENT_ARGS: args, ALLOW_BYPASS: "1" }).agent.allowBypass).toBe(true);
    },
  );

  test.each(["", "/repos"])("REPOS_DIR is not in STATE_DIR: %j", (below) => {
    const { env, stateDir } = makeFolders();
    const words = "REPOS_DIR: must not be in STATE_DIR";
    expect(() => parseVmConfig({ ...env, REPOS_DIR: `${stateDir}${below}` })).toThrow(words);
    expect(parseVmConfig({ ...env, REPOS_DIR: `${stateDir}-repos` }).reposDir).toBe(`${stateDir}-repos`);
  });

  test.each(["", "/state"])("STATE_DIR is not in REPOS_DIR: %j", (below) => {
    const { env, reposDir } = makeFolders();
    const words = /(STATE_DIR: must not be in REPOS_DIR|REPOS_DIR: must not be in STATE_DIR)/;
    expect(() => parseVmConfig({ ...env, STATE_DIR: `${reposDir}${below}` })).toThrow(words);
  });

  // Promise: S5
  test("a host that others can reach needs a token", async () => {
    const { env } = makeFolders();
    const { exitCode, stderr } = await runToEnd({ ...env, VM_HOST: "0.0.0.0", VM_TOKEN: "   " });
    expect(stderr).toMatch(
      /^threadmux vm: VM_TOKEN: missing; VM_HOST=0.0.0.0 can be reached from other machines/,
    );
    expect(exitCode).toBe(2);
  });

  test.each([
    ["no tmux", (f: SidecarFolders) => ({ ...f.env, PATH: f.home }), "tmux can't be run"],
    [
      "a STATE_DIR that can't be made",
      (f: SidecarFolders) => ({ ...f.env, STATE_DIR: "/dev/null/state" }),
      "STATE_DIR: .*/dev/null",
    ],
    [
      "a STATE_DIR where Node's own mkdir never ends",
      (f: SidecarFolders) => ({ ...f.env, STATE_DIR: "/proc/x/y" }),
      "STATE_DIR: .*'/proc/x'",
    ],
    [
      "a REPOS_DIR that can't be made",
      (f: SidecarFolders) => ({ ...f.env, REPOS_DIR: "/proc/x" }),
      "REPOS_DIR: .*'/proc/x'",
    ],
  ])("%s is said in words, with exit code 1", async (_name, makeEnv, words) => {
    const { exitCode, stderr } = await runToEnd(makeEnv(makeFolders()));
    expect(stderr).toMatch(new RegExp(`^threadmux vm: .*${words}`));
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(exitCode).toBe(1);
  });

  test("a port in use is said in words", async () => {
    const folders = makeFolders();
    const first = await startSidecar();
    cleanups.push(first.close);
    const { exitCode, stderr } = await runToEnd({ ...folders.env, VM_PORT: new URL(first.url).port });
    expect(stderr).toMatch(/^threadmux vm: .*EADDRINUSE/);
    expect(exitCode).toBe(1);
  });
});

test.each([
  [999, /^threadmux vm: the database is of version 999, this threadmux knows \d+: run the newer one\n$/],
  [15, /^threadmux vm: the database is of version 15, which was never released: move STATE_DIR away/],
])("a database of version %i is refused, and left as it is", async (version, words) => {
  const folders = makeFolders();
  mkdirSync(folders.stateDir);
  const file = join(folders.stateDir, "threadmux.db");
  const db = new Database(file);
  db.exec(`CREATE TABLE unknown (x); PRAGMA user_version = ${version}`);
  db.close();
  const before = readFileSync(file);
  const { exitCode, stderr } = await runToEnd(folders.env);
  expect(stderr).toMatch(words);
  expect(exitCode).toBe(1);
  expect(readFileSync(file).equals(before)).toBe(true);
});

test.each([
  ["spaces and quotes", `s p'a"c\`e $(touch pwned); &`],
  ["what tmux expands", "s#(touch pwned)#{pane_id}%H#S"],
  ["characters of the whole world", "stäte-日本"],
  ["a newline", "s\nt"],
])("a STATE_DIR of %s works", async (_name, stateName) => {
  const folders = makeFolders(stateName);
  const sidecar = await startSidecar({}, { folders });
  await openTerminal(sidecar.client, "one", "stty -echo; echo ready; cat; exit 3");
  await untilOutput(sidecar.client, "one", "ready\r\n");
  await sidecar.client.sendInput("one", { text: `${"x\n".repeat(1_000)}end` });
  await untilOutput(sidecar.client, "one", "end\r\n");
  await sidecar.restart();
  await sidecar.client.sendInput("one", { key: "C-d" });
  expect(await untilEnded(sidecar.client, "one")).toMatchObject({ exitCode: 3 });
  expect(await sidecar.client.killThread("one")).toMatchObject({ exitCode: 3, survivors: 0 });
  await sidecar.stop();
  const everything = readdirSync(folders.path, { recursive: true, encoding: "utf8" });
  expect(everything.filter((name) => name.endsWith("pwned"))).toEqual([]);
});

// Promise: S18
test("nobody else can read what is kept: folders 0700, files 0600", async () => {
  const folders = makeFolders();
  const { VM_TOKEN: _, ...env } = folders.env;
  mkdirSync(folders.stateDir, { mode: 0o755 });
  const sidecar = await spawnSidecar({ VM_TOKEN: "" }, { ...folders, env });
  const token = readFileSync(join(folders.stateDir, "token"), "utf8").trim();
  const client = new SidecarClient({ url: sidecar.url, token });
  await openTerminal(client, "one", "umask; cat");
  await untilOutput(client, "one", "\r\n");
  await openTerminal(client, "two", "exit 1");
  await untilEnded(client, "two");
  const mode = (name: string) => {
    const stat = statSync(join(folders.stateDir, name));
    return `${stat.isDirectory() ? "folder" : "file"} ${(stat.mode & 0o777).toString(8)}`;
  };
  expect(mode(".")).toBe("folder 700");
  const names = readdirSync(folders.stateDir, { recursive: true, encoding: "utf8" });
  expect(names).toEqual(expect.arrayContaining(["token", "threadmux.db", "logs/one.log", "runs/two.1"]));
  const open = names.filter((name) => name !== "tmux.sock" && !/^(folder 700|file 600)$/.test(mode(name)));
  expect(names).toContain("runs/one.sink");
  expect(open).toEqual([]);
  expect(await untilOutput(client, "one", "\r\n")).toMatch(/^0022\r\n/);
  await sidecar.stop();
});

// Promise: S18
describe("a STATE_DIR that terminals or agents would come into is refused, also through links:", () => {
  test.each([
    [
      "below REPOS_DIR",
      ({ reposDir, stateDir }: SidecarFolders) => symlinkSync(reposDir, stateDir),
      "STATE_DIR: must not be in REPOS_DIR|REPOS_DIR: must not be in STATE_DIR",
    ],
    [
      "REPOS_DIR below it",
      ({ reposDir, stateDir }: SidecarFolders) => {
        mkdirSync(join(stateDir, "inside"), { recursive: true, mode: 0o700 });
        chmodSync(stateDir, 0o700);
        rmSync(reposDir, { recursive: true, force: true });
        symlinkSync(join(stateDir, "inside"), reposDir);
      },
      "REPOS_DIR: must not be in STATE_DIR",
    ],
    [
      "in a git work tree",
      ({ home, stateDir }: SidecarFolders) => {
        mkdirSync(join(home, "shop", "deep"), { recursive: true });
        writeFileSync(join(home, "shop", ".git"), "gitdir: elsewhere\n");
        symlinkSync(join(home, "shop", "deep"), stateDir);
      },
      "STATE_DIR: .* git work tree .*/shop,",
    ],
  ])("%s", async (_name, make, words) => {
    const folders = makeFolders();
    mkdirSync(folders.reposDir, { recursive: true });
    rmSync(folders.stateDir, { recursive: true, force: true });
    make(folders);
    const { exitCode, stderr } = await runToEnd(folders.env);
    expect(stderr).toMatch(new RegExp(`^threadmux vm: (${words}).*\n$`));
    expect(exitCode).toBe(1);
    expect(existsSync(join(folders.stateDir, "token"))).toBe(false);
  });
});

// Promise: S18
describe("a STATE_DIR that is not for the sidecar alone is refused and left as it is:", () => {
  const modeOf = (path: string) => statSync(path).mode & 0o7777;

  test.each([
    ["a sticky one, as /tmp", 0o1777, [], "is a shared folder; choose one of its own"],
    [
      "an open one with other things in it, as a home",
      0o755,
      ["notes.txt"],
      "is open to others and holds other things",
    ],
    [
      "an open one in which others of us alone have written",
      0o755,
      ["local-discord.json", "notes.txt", "run.json"],
      "is open to others and holds other things",
    ],
  ] as const)("%s", async (_name, mode, names, words) => {
    const folders = makeFolders();
    mkdirSync(folders.stateDir);
    chmodSync(folders.stateDir, mode);
    for (const name of names) writeFileSync(join(folders.stateDir, name), "mine");
    const { exitCode, stderr } = await runToEnd(folders.env);
    expect(stderr).toMatch(new RegExp(`^threadmux vm: STATE_DIR: .*${folders.stateDir} ${words}.*\n$`));
    expect(exitCode).toBe(1);
    expect(modeOf(folders.stateDir)).toBe(mode);
    expect(readdirSync(folders.stateDir)).toEqual(names);
  });

  test.runIf(process.getuid?.() === 0)("another user's", async () => {
    const folders = makeFolders();
    mkdirSync(folders.stateDir, { mode: 0o700 });
    chownSync(folders.stateDir, 65_534, 65_534);
    const { exitCode, stderr } = await runToEnd(folders.env);
    expect(stderr).toMatch(/^threadmux vm: STATE_DIR: .* belongs to another user \(id 65534\); .*\n$/);
    expect(exitCode).toBe(1);
    expect(readdirSync(folders.stateDir)).toEqual([]);
  });

  test("one that was used before is tightened", async () => {
    const folders = makeFolders();
    const sidecar = await startSidecar({}, { folders });
    await sidecar.stop();
    chmodSync(folders.stateDir, 0o755);
    await sidecar.restart();
    expect(modeOf(folders.stateDir)).toBe(0o700);
  });
});

// Promise: S18
test("an .env or a token that others may read is tightened before it is used", async () => {
  const folders = makeFolders();
  const { VM_TOKEN: _, ...env } = folders.env;
  const token = "a-token-of-at-least-32-characters-in-a-file";
  mkdirSync(folders.stateDir, { mode: 0o700 });
  writeFileSync(join(folders.stateDir, "token"), token, { mode: 0o644 });
  writeFileSync(join(folders.home, ".env"), "MAX_THREADS=1\n");
  chmodSync(join(folders.home, ".env"), 0o664);
  const sidecar = await spawnSidecar({ VM_TOKEN: "" }, { ...folders, env });
  const client = new SidecarClient({ url: sidecar.url, token });
  expect(await client.listThreads()).toEqual([]);
  for (const file of [join(folders.stateDir, "token"), join(folders.home, ".env")]) {
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  await sidecar.stop();
});

test("a token is made at the first start and kept; a given one is used", async () => {
  const folders = makeFolders();
  const first = await startSidecar({ token: undefined }, { folders });
  expect(first.token).toMatch(/^[0-9a-f]{64}$/);
  expect((await first.client.listThreads()).length).toBe(0);
  await first.restart();
  expect((await first.client.listThreads()).length).toBe(0);
  const given = "another-token-of-at-least-32-characters";
  await first.restart({ token: given });
  expect(await refusal(first.client.listThreads())).toMatchObject({ code: "unauthorized" });
  const client = new SidecarClient({ url: first.url, token: given });
  expect(await client.listThreads()).toEqual([]);
  writeFileSync(join(folders.stateDir, "token"), "short\n");
  await expect(first.restart({ token: undefined })).rejects.toThrow(
    "holds no token of at least 32 characters",
  );
});

test("a REPOS_DIR that is a link is followed", async () => {
  const folders = makeFolders();
  mkdirSync(join(folders.reposDir, "app"));
  const link = join(folders.path, "link");
  symlinkSync(folders.reposDir, link);
  const sidecar = await startSidecar({ reposDir: link }, { folders });
  cleanups.push(sidecar.stop);
  for (const [threadId, dir] of [
    ["relative", "app"],
    ["absolute", join(link, "app")],
  ] as const) {
    await openTerminal(sidecar.client, threadId, "pwd -P", { dir, cols: 200 });
    expect((await untilEnded(sidecar.client, threadId)).output).toBe(`${folders.reposDir}/app\r\n`);
    expect((await sidecar.client.getThread(threadId)).dir).toBe("app");
  }
});

// Promise: R25
test("old ended threads are removed with their logs after LOG_RETENTION_HOURS; open ones never", async () => {
  let clock = Date.now();
  const folders = makeFolders();
  const sidecar = await startSidecar({ logRetentionHours: 2 }, { folders, now: () => clock });
  cleanups.push(sidecar.stop);
  const { client } = sidecar;
  await openTerminal(client, "open", "echo open; cat");
  await openTerminal(client, "exited", "exit 1");
  await openTerminal(client, "killed", "echo killed; cat");
  await untilEnded(client, "exited");
  await client.killThread("killed");
  clock += 2 * 3_600_000 - 60_000;
  await sidecar.restart();
  expect((await client.getThread("killed")).status).toBe("killed");
  clock += 120_000;
  await sidecar.restart();
  await until("the old thread to be removed", async () => {
    return (await client.listThreads({ status: "all" })).map((t) => t.threadId).join() === "exited,open";
  });
  expect(await refusal(client.getThread("killed"))).toMatchObject({ code: "not_found" });
  const left = () => readdirSync(folders.stateDir, { recursive: true, encoding: "utf8" });
  await until("its files to be removed", () => !left().some((name) => name.includes("killed")));
});

test("SIGTERM ends the sidecar with exit code 0 and leaves the threads alone", async () => {
  const folders = makeFolders();
  const sidecar = await spawnSidecar({}, folders);
  await openTerminal(sidecar.client, "one", "echo one; cat");
  await untilOutput(sidecar.client, "one", "one");
  const exited = sidecar.exited();
  await sidecar.stop();
  expect(await exited).toBe(0);
  await sidecar.start();
  await sidecar.client.sendInput("one", { text: "two" });
  await untilOutput(sidecar.client, "one", "two\r\ntwo\r\n");
  await sidecar.stop();
});
