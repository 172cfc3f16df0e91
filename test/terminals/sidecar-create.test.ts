import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { spawnSidecar, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilEnded, untilOutput } from "../support/threads.ts";

let sidecar: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
});
afterAll(() => sidecar.close());

test("how an agent is to work is nothing for a terminal", async () => {
  const refused = await refusal(openTerminal(sidecar.client, "no-agent", "true", { agent: { model: "x" } }));
  expect(refused).toMatchObject({ code: "invalid_request", message: expect.stringMatching(/^agent: /) });
});

// Promise: S6
describe.concurrent("the directory", () => {
  beforeAll(() => {
    const { reposDir, folders } = sidecar;
    mkdirSync(join(reposDir, "app/src"), { recursive: true });
    mkdirSync(join(reposDir, "..dots"));
    mkdirSync(join(reposDir, "#(touch pwned) %H 'a' \"b\"; $(id)"));
    mkdirSync(join(folders.path, "r-outside"));
    writeFileSync(join(reposDir, "file"), "");
    symlinkSync("/etc", join(reposDir, "link-out"));
    symlinkSync("../r-outside", join(reposDir, "link-beside"));
    symlinkSync(join(reposDir, "app"), join(reposDir, "link-in"));
    symlinkSync("loop", join(reposDir, "loop"));
    symlinkSync("nowhere", join(reposDir, "dangling"));
  });

  test.each([
    "../../etc",
    "..",
    "app/../..",
    "app/../../r-outside",
    "/etc",
    "/",
    "//etc",
    "link-out",
    "link-out/ssl",
    "link-beside",
    "file",
    "file/",
    "missing",
    "dangling",
    "loop",
    "app\0",
    "app/\0/../../..",
    "%2e%2e/%2e%2e/etc",
    "..%2f..%2fetc",
    "~/a",
    "$HOME",
    " ",
    "a".repeat(300),
  ])("%j is refused and nothing is created", async (dir) => {
    const { client } = sidecar;
    const threadId = `no-${createHash("md5").update(dir).digest("hex").slice(0, 20)}`;
    const { code, message } = await refusal(openTerminal(client, threadId, "true", { dir }));
    expect(["invalid_directory", "invalid_request"]).toContain(code);
    if (!dir.includes("\0")) expect(code).toBe("invalid_directory");
    expect(message).toMatch(/^dir: /);
    expect(await refusal(client.getThread(threadId))).toMatchObject({ code: "not_found" });
  });

  test.each([
    [".", "."],
    ["app", "app"],
    ["./app//src/", "app/src"],
    ["app/../app", "app"],
    ["..dots", "..dots"],
    ["link-in", "app"],
    ["link-in/src", "app/src"],
  ])("%j is %j", async (dir, shown) => {
    const { client, reposDir } = sidecar;
    const threadId = `dir-${Buffer.from(dir).toString("hex")}`;
    await openTerminal(client, threadId, 'pwd -P; printf %s. "$PWD"', { dir, cols: 200 });
    const path = join(reposDir, shown);
    expect((await untilEnded(client, threadId)).output).toBe(`${path}\r\n${path}.`);
    expect((await client.getThread(threadId)).dir).toBe(shown);
    await client.killThread(threadId);
  });

  test("an absolute path below REPOS_DIR is the same as the relative one", async () => {
    const { client, reposDir } = sidecar;
    await openTerminal(client, "absolute", "true", { dir: join(reposDir, "app") });
    expect((await client.getThread("absolute")).dir).toBe("app");
  });

  // Promise: S8
  test("a name that a shell or tmux would expand is only a name", async () => {
    const { client, reposDir } = sidecar;
    const dir = "#(touch pwned) %H 'a' \"b\"; $(id)";
    await openTerminal(client, "nasty-dir", "pwd; ls -a ..", { dir, cols: 300 });
    const { output } = await untilEnded(client, "nasty-dir");
    expect(output).toContain(`${join(reposDir, dir)}\r\n`);
    expect(output).not.toMatch(/^pwned$/m);
  });
});

describe.concurrent("the threadId", () => {
  test.each([
    "a:b",
    "a.b",
    "a b",
    " ",
    "",
    "a".repeat(65),
    "#(id)",
    "a/b",
    "a\n",
    "ä",
    "%41",
    "constructor",
    "__proto__",
  ])("%j is refused by name", async (threadId) => {
    const { code, message } = await refusal(openTerminal(sidecar.client, threadId, "true"));
    expect(code).toBe("invalid_request");
    expect(message).toContain("threadId: ");
  });

  test.each(["a".repeat(64), "-rf", "_", "A-1_b"])("%j is taken", async (threadId) => {
    expect(await openTerminal(sidecar.client, threadId, "echo hello")).toBe(`thread-${threadId}`);
    expect((await untilEnded(sidecar.client, threadId)).output).toBe("hello\r\n");
    expect(await sidecar.client.killThread(threadId)).toMatchObject({ killed: true, summary: "hello" });
  });

  test("one that begins like another is not taken for it", async () => {
    const { client } = sidecar;
    await openTerminal(client, "prefix", "cat");
    await openTerminal(client, "prefix2", "cat");
    await client.killThread("prefix");
    await client.sendInput("prefix2", { text: "alive" });
    await untilOutput(client, "prefix2", "alive\r\nalive");
  });
});

describe.concurrent("opening", () => {
  test("a second time with an open id is refused, and the first goes on untouched", async () => {
    const { client } = sidecar;
    await openTerminal(client, "twice", "echo first; cat");
    await untilOutput(client, "twice", "first\r\n");
    const before = await client.getThread("twice");
    expect(await refusal(openTerminal(client, "twice", "echo second"))).toEqual({
      code: "thread_exists",
      message: "An open thread has the id twice already.",
    });
    expect(await client.getThread("twice")).toEqual(before);
    await client.sendInput("twice", { text: "still here" });
    const log = await untilOutput(client, "twice", "still here\r\nstill here\r\n");
    expect(log).not.toContain("second");
  });

  test("ten times at once with one id opens one thread", async () => {
    const { client } = sidecar;
    const tries = Array.from({ length: 10 }, () => openTerminal(client, "race", "echo once; cat"));
    const results = await Promise.allSettled(tries);
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
    const refusals = results.flatMap((r) => (r.status === "rejected" ? [r.reason.code] : []));
    expect(refusals).toEqual(Array(9).fill("thread_exists"));
    expect(await untilOutput(client, "race", "once\r\n")).toBe("once\r\n");
  });

  test("again with the id of a killed thread starts afresh", async () => {
    const { client } = sidecar;
    await openTerminal(client, "again", "echo old; cat");
    await untilOutput(client, "again", "old");
    await client.killThread("again");
    await openTerminal(client, "again", "echo new; cat");
    expect(await untilOutput(client, "again", "new\r\n")).toBe("new\r\n");
    await client.sendInput("again", { text: "typed" });
    await untilOutput(client, "again", "typed\r\ntyped\r\n");
    expect(await client.getThread("again")).toMatchObject({
      status: "running",
      exitCode: null,
      endedAt: null,
    });
  });

  test("a terminal has the size that was asked for from its first moment", async () => {
    const { client } = sidecar;
    await openTerminal(client, "size", "stty size", { cols: 123, rows: 45 });
    expect((await untilEnded(client, "size")).output).toBe("45 123\r\n");
    await openTerminal(client, "size-default", "stty size");
    expect((await untilEnded(client, "size-default")).output).toBe("24 80\r\n");
  });

  test("the command is one shell line, whatever it holds", async () => {
    const { client } = sidecar;
    const command = `printf '%s|' "a;" ';' '#{pane_id}' '#(id)' '%H' 'ü€😀' "\\"" '$HOME'; echo "\nend";`;
    await openTerminal(client, "shell-line", command);
    const { output } = await untilEnded(client, "shell-line");
    expect(output).toBe(`a;|;|#{pane_id}|#(id)|%H|ü€😀|"|$HOME|\r\nend\r\n`);
  });

  test("a command of 100 KiB works, one byte more is refused", async () => {
    const { client } = sidecar;
    const limit = 100 * 1024;
    const [before, after] = ["printf %s ", " | wc -c"];
    const length = limit - before.length - after.length;
    await openTerminal(client, "long", before + "x".repeat(length) + after);
    expect((await untilEnded(client, "long")).output).toBe(`${length}\r\n`);
    expect(await refusal(openTerminal(client, "longer", before + "x".repeat(length + 1) + after))).toEqual({
      code: "invalid_request",
      message: "command: must be at most 102,400 bytes.",
    });
  });
});

test("one thread over MAX_THREADS is refused with the number; ended ones make room", async () => {
  const small = await startSidecar({ maxThreads: 2 });
  try {
    const { client } = small;
    await openTerminal(client, "one", "cat");
    await openTerminal(client, "two", "true");
    await untilEnded(client, "two"); // exited, but still open
    expect(await refusal(openTerminal(client, "three", "cat"))).toEqual({
      code: "max_threads",
      message: "2 of 2 terminals are open; end one before you start another.",
    });
    await client.killThread("two");
    await openTerminal(client, "three", "cat");
    const tries = await Promise.allSettled(["four", "five"].map((id) => openTerminal(client, id, "cat")));
    expect(tries.map((result) => result.status)).toEqual(["rejected", "rejected"]);
    expect((await client.listThreads()).map((thread) => thread.threadId).sort()).toEqual(["one", "three"]);
  } finally {
    await small.close();
  }
});

// Promise: S13
test("a program sees a login's environment: no tmux, no token, nothing else of the sidecar's", async () => {
  const spawned = await spawnSidecar({ MY_SECRET: "s3cret", AWS_KEY: "s3cret", TMUX: "/tmp/x,1,2" });
  try {
    const { client, reposDir, folders } = spawned;
    await openTerminal(client, "env", "env > env.txt");
    await untilEnded(client, "env");
    const lines = readFileSync(join(reposDir, "env.txt"), "utf8").trimEnd().split("\n");
    const names = lines.map((line) => line.slice(0, line.indexOf("="))).sort();
    const extra = ["OLDPWD", "SHLVL", "_", "COLORTERM"]; // the shells' own, and tmux 3.7's
    expect(names.filter((name) => !extra.includes(name))).toEqual([
      ..."HOME LANG LOGNAME PATH PWD SHELL TERM TERM_PROGRAM TERM_PROGRAM_VERSION".split(" "),
      ...["THREADMUX_TEST", "THREADMUX_THREAD", "USER"],
    ]);
    expect(lines).toContain(`HOME=${folders.home}`);
    expect(lines).toContain("TERM=tmux-256color");
    expect(lines.join("\n")).not.toContain(spawned.token);
  } finally {
    await spawned.close();
  }
});
