/** `threadmux doctor` on sidecars' set-ups that are broken in one way each, beside a real one. */
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Finding, lookAll } from "../../shared/doctor.ts";
import { looksOfSidecar } from "../../vm/doctor/looks.ts";
import type { Surroundings } from "../../vm/doctor/surroundings.ts";
import { makeFolder } from "../support/folders.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

const NOW = Date.now();
const SOUND: Surroundings = {
  nodeVersion: "v20.19.0",
  now: () => NOW,
  isRoot: false,
  builtAt: NOW - 1_000,
  freeDiskBytes: () => 100 * 1024 ** 3,
  freeInodes: () => 1_000_000,
  findWatchProblem: () => undefined,
  canMakeGroups: () => true,
  findBudgetProblems: () => ({}),
  findSandbox: async (mode) => ({ sandbox: undefined, health: { mode, form: "bwrap", problem: null } }),
};

let sidecar: TestSidecar;
let folder: ReturnType<typeof makeFolder>;
/** A program named claude that is new enough and signed in. */
let bin: string;
/** The environment of a set-up without a fault. */
let sound: Record<string, string>;
let count = 0;

beforeAll(async () => {
  folder = makeFolder();
  sidecar = await startSidecar();
  bin = programs({ claude: claude("2.1.330 (Claude Code)", 0), chromium: "exit 0" });
  const port = new URL(sidecar.url).port;
  sound = {
    ...sidecar.folders.env,
    ...{ PATH: `${bin}:${process.env["PATH"]}`, VM_PORT: port, VM_URL: sidecar.url, AGENT_SANDBOX: "state" },
  };
});
afterAll(async () => {
  await sidecar?.close();
  folder.remove();
});

/** A folder of scripts. */
function programs(scripts: Record<string, string>): string {
  const path = place();
  for (const [name, script] of Object.entries(scripts))
    writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** An account's name on its standard output is not to be told. */
const claude = (version: string, signedIn: number) =>
  `if [ "$1" = auth ]; then echo '{"email":"secret@example"}'; exit ${signedIn}; fi; echo '${version}'`;

function place(mode = 0o700): string {
  const path = join(folder.path, String(count++));
  mkdirSync(path, { mode });
  return path;
}

interface Broken {
  env?: Record<string, string>;
  around?: Partial<Surroundings>;
  /** Puts right what others share. */
  after?: () => void | Promise<void>;
}

/** @param only this look; not set: all */
function examine({ env = {}, around = {} }: Broken, only?: string): Promise<Finding[]> {
  const looks = looksOfSidecar({ ...sound, ...env }, { ...SOUND, ...around });
  return lookAll(looks.filter(({ name }) => only === undefined || name === only));
}

test("a sound set-up has no fault, and every look says that it is well", async () => {
  const findings = await examine({});
  expect(findings.filter(({ state }) => state !== "ok")).toEqual([]);
  expect(findings.map(({ look }) => look)).toEqual([
    ...["Node.js", "settings", "state folder", "repositories", "tokens", "database", "tmux", "git", "disk"],
    ...[
      "file watches",
      "control groups",
      "budgets",
      "clock",
      "sandbox",
      "agent",
      "sign-in",
      "browser",
      "sidecar",
    ],
  ]);
});

/** A state folder of nobody yet, and a port that nothing uses. */
const elsewhere = (stateDir: string) => ({ STATE_DIR: stateDir, VM_PORT: "0", VM_URL: "http://127.0.0.1:1" });

const errno = (code: string) => Object.assign(new Error(`${code}: no more`), { code });

const BROKEN: [string, () => Broken | Promise<Broken>, string, RegExp, RegExp][] = [
  [
    "an old Node.js",
    () => ({ around: { nodeVersion: "v18.20.4" } }),
    "Node.js",
    /20\.19 or newer/,
    /install Node/,
  ],
  ["a bad setting", () => ({ env: { MAX_THREADS: "many" } }), "settings", /^MAX_THREADS: /, /set it in/],
  [
    "a short token",
    () => ({ env: { VM_TOKEN: "short" } }),
    "settings",
    /^VM_TOKEN: .*32 characters/,
    /set it/,
  ],
  ["no tmux", () => ({ env: { PATH: bin } }), "tmux", /can't be run/, /^apt-get install -y tmux$/],
  [
    "an old tmux",
    () => ({ env: { PATH: `${programs({ tmux: "echo tmux 3.1c" })}:${sound["PATH"]}` } }),
    "tmux",
    /3\.2a or newer is needed, this is tmux 3\.1c/,
    /apt-get install -y tmux/,
  ],
  [
    "a state folder in a work tree",
    () => {
      const work = place();
      mkdirSync(join(work, ".git"));
      return { env: elsewhere(join(work, "state")) };
    },
    "state folder",
    /in the git work tree/,
    /set STATE_DIR to/,
  ],
  [
    "a state folder that is everybody's",
    () => ({ env: elsewhere("/tmp") }),
    "state folder",
    /\/tmp is a shared folder/,
    /set STATE_DIR/,
  ],
  [
    "a state folder below a file",
    () => {
      const path = join(place(), "file");
      writeFileSync(path, "");
      return { env: elsewhere(join(path, "state")) };
    },
    "state folder",
    /is not a directory/,
    /set STATE_DIR/,
  ],
  [
    "repositories that hold the state folder, by a link",
    () => {
      const path = place();
      mkdirSync(join(path, "state"), { mode: 0o700 });
      const link = join(place(), "link");
      symlinkSync(path, link);
      return { env: { ...elsewhere(join(path, "state")), REPOS_DIR: link } };
    },
    "repositories",
    /must not be in REPOS_DIR/,
    /set REPOS_DIR/,
  ],
  [
    "a token that others may read",
    () => {
      const path = place();
      writeFileSync(join(path, "token"), "x".repeat(64));
      chmodSync(join(path, "token"), 0o644);
      return { env: { ...elsewhere(path), VM_TOKEN: "" } };
    },
    "tokens",
    /others may read it/,
    /^chmod 600 .*\/token$/,
  ],
  [
    "an empty token file",
    () => {
      const path = place();
      writeFileSync(join(path, "token"), "\n", { mode: 0o600 });
      return { env: { ...elsewhere(path), VM_TOKEN: "" } };
    },
    "tokens",
    /holds no token/,
    /^rm .*\/token$/,
  ],
  [
    "a newer database",
    () => {
      const path = place();
      const db = new Database(join(path, "threadmux.db"));
      db.pragma("user_version = 999");
      db.close();
      return { env: elsewhere(path) };
    },
    "database",
    /of version 999.*run the newer one/,
    /threadmux restore/,
  ],
  [
    "a database that is none",
    () => {
      const path = place();
      writeFileSync(join(path, "threadmux.db"), "no database at all".repeat(1_000));
      return { env: elsewhere(path) };
    },
    "database",
    /is damaged/,
    /threadmux restore/,
  ],
  ["a full disk", () => ({ around: { freeDiskBytes: () => 1024 } }), "disk", /it is full/, /^df -h /],
  ["no room for files", () => ({ around: { freeInodes: () => 3 } }), "disk", /takes 3 more files/, /^df -i /],
  [
    "no watch left",
    () => ({ around: { findWatchProblem: () => errno("ENOSPC") } }),
    "file watches",
    /ENOSPC/,
    /sysctl -w fs\.inotify\.max_user_watches=/,
  ],
  [
    "no inotify instance left",
    () => ({ around: { findWatchProblem: () => errno("EMFILE") } }),
    "file watches",
    /EMFILE/,
    /sysctl -w fs\.inotify\.max_user_instances=/,
  ],
  [
    "a clock at 1970",
    () => ({ around: { now: () => 0 } }),
    "clock",
    /1970.*before/,
    /timedatectl set-ntp true/,
  ],
  ["no agent", () => ({ env: { AGENT_PROGRAM: "nobody" } }), "agent", /nobody is not on/, /^npm install -g/],
  [
    "no agent that speaks ACP",
    () => ({ env: { AGENT_ENGINE: "acp", AGENT_PROGRAM: "codex" } }),
    "agent",
    /codex-acp is not on/,
    /^npm install -g .*codex-acp/,
  ],
  [
    "an old agent",
    () => ({ env: { PATH: `${programs({ claude: claude("2.0.1 (Claude Code)", 0) })}:${sound["PATH"]}` } }),
    "agent",
    /2\.0\.1 is too old/,
    /^npm install -g/,
  ],
  [
    "an agent that nobody signed in",
    () => ({ env: { PATH: `${programs({ claude: claude("2.1.330", 1) })}:${sound["PATH"]}` } }),
    "sign-in",
    /is not signed in$/,
    /^claude auth login/,
  ],
  [
    "a key that threads do not get",
    () => ({
      env: {
        PATH: `${programs({ claude: claude("2.1.330", 1) })}:${sound["PATH"]}`,
        ANTHROPIC_API_KEY: "a-dummy",
      },
    }),
    "sign-in",
    /THREAD_ENV does not name it/,
    /set THREAD_ENV=ANTHROPIC_API_KEY/,
  ],
  [
    "no sandbox where one must be",
    () => ({
      env: { AGENT_SANDBOX: "workspace" },
      around: {
        findSandbox: async (mode) => ({
          sandbox: undefined,
          health: { mode, form: null, problem: "bwrap: it is not installed" },
        }),
      },
    }),
    "sandbox",
    /can't make workspace \(bwrap: it is not installed\)/,
    /install bubblewrap/,
  ],
  [
    "another token than the sidecar's",
    () => ({ env: { VM_TOKEN: "another-token-0123456789abcdef01234567" } }),
    "sidecar",
    /refuses this token/,
    /set VM_TOKEN or STATE_DIR/,
  ],
  [
    "a sidecar at another address",
    () => ({ env: { VM_PORT: "0", VM_URL: "http://127.0.0.1:1" } }),
    "sidecar",
    /one runs on .*, but none answers at/,
    /set VM_PORT or VM_URL/,
  ],
  [
    "somebody else on the port",
    async () => {
      const server = createServer((_request, response) => response.writeHead(404).end("nothing here"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const port = String((server.address() as AddressInfo).port);
      return {
        env: { STATE_DIR: place(), VM_PORT: port, VM_URL: `http://127.0.0.1:${port}` },
        after: () => void server.close(),
      };
    },
    "sidecar",
    /is no sidecar/,
    /set VM_PORT/,
  ],
];

test.each(BROKEN)("%s is named, with its mend", async (_what, make, look, says, mend) => {
  const broken = await make();
  try {
    const faults = (await examine(broken, look)).filter(({ state }) => state === "fault");
    expect(faults).toContainEqual({
      ...{ look, state: "fault" },
      ...{ says: expect.stringMatching(says), mend: expect.stringMatching(mend) },
    });
    expect(JSON.stringify(faults)).not.toMatch(/secret@example|a-dummy/);
  } finally {
    await broken.after?.();
  }
});

test("what works less well is a note, and no fault", async () => {
  const around = { canMakeGroups: () => false, freeDiskBytes: () => 500 * 1024 ** 2 };
  const findings = await examine({ env: elsewhere(place()), around });
  expect(findings.filter(({ state }) => state === "fault")).toEqual([]);
  const notes = findings.filter(({ state }) => state === "note");
  expect(notes.map(({ look }) => look)).toEqual(["disk", "control groups", "sidecar"]);
});

test("of control groups, what the sidecar that runs can do counts, not what the shell can", async () => {
  const plain = await startSidecar({}, { canUseCgroups: false });
  try {
    const env = { VM_URL: plain.url };
    const looked = [...(await examine({ env }, "control groups")), ...(await examine({ env }, "budgets"))];
    expect(looked).toMatchObject([
      { state: "note", says: expect.stringMatching(/^the sidecar that runs can make none: /) },
      {
        state: "note",
        says: expect.stringMatching(/^memory, cpu, pids of a thread can't be bounded: control groups/),
      },
    ]);
  } finally {
    await plain.close();
  }
  const { groups } = await sidecar.client.getHealth();
  const around = { canMakeGroups: () => !groups?.areMade };
  expect(await examine({ around }, "control groups")).toMatchObject([
    { state: groups?.areMade ? "ok" : "note" },
  ]);
});

test("a browser that is missing or has no sandbox is a note", async () => {
  const look = (broken: Broken) => examine(broken, "browser");
  expect(await look({ around: { isRoot: true } })).toMatchObject([
    { state: "note", says: expect.stringContaining("runs without its own sandbox") },
  ]);
  expect(await look({ env: { BROWSER_PROGRAM: "no-such-browser" } })).toMatchObject([
    { state: "note", says: expect.stringContaining("no-such-browser, which BROWSER_PROGRAM names") },
  ]);
});

test("from outside: a line a look, the mend below a fault, and the exit code", async () => {
  const program = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
  const doctor = (...args: string[]) =>
    promisify(execFile)(process.execPath, [program, "doctor", ...args], {
      env: { ...sound, AGENT_SANDBOX: "off" },
      cwd: folder.path,
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
  const file = join(place(), "service.env");
  writeFileSync(file, `MAX_THREADS=0\n`);
  const [well, ill, only] = await Promise.all([
    doctor("--json"),
    doctor("--only", "sidecar", "--settings", file),
    doctor("--only", "relay"),
  ]);
  expect({ ...JSON.parse(well.stdout), code: well.code }).toMatchObject({ code: 0, ok: true });
  expect(ill.code).toBe(1);
  expect(ill.stdout).toMatch(/^fault {2}settings +MAX_THREADS: .*\n {7}→ set it in/m);
  expect(ill.stdout).toMatch(/^ok {5}tmux +tmux \d/m);
  expect(only).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^note {3}Discord settings +none are set/),
  });
});

test("in a folder that somebody else filled, nothing of its .env is run or asked, and doctor says so", async () => {
  const program = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
  const cwd = place();
  const ran = join(cwd, "ran");
  writeFileSync(join(cwd, "theirs.cjs"), `require("node:fs").writeFileSync(${JSON.stringify(ran)}, "")`);
  writeFileSync(join(cwd, ".env"), `NODE_OPTIONS=--require ${join(cwd, "theirs.cjs")}\n`);
  const { stderr } = await promisify(execFile)(process.execPath, [program, "doctor", "--only", "relay"], {
    env: sound,
    cwd,
  });
  expect(existsSync(ran)).toBe(false);
  expect(stderr).toMatch(/\.env is not read.*--settings \.env/);
});
