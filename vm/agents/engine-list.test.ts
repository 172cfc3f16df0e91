/** The list of engines: how often, and which, programs it runs. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ENGINE_NAMES } from "../../shared/agent/engines/engines.ts";
import { engineChoices, enginesReplySchema } from "../../shared/engines-api.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { EngineList } from "./engine-list.ts";
import type { LaunchOptions } from "./launch.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const SETTINGS: LaunchOptions = {
  engine: "claude",
  program: "claude",
  args: [],
  timeouts: { idleSeconds: 1, askParkMinutes: 1, lockSeconds: 1 },
};

let count = 0;
/** A folder with a claude that notes each time it runs. */
function machine(says = "2.1.330 (Claude Code)", signedIn = 0) {
  const bin = join(folder.path, String(count++));
  const ran = join(bin, "ran");
  mkdirSync(bin);
  writeFileSync(ran, "");
  const script = `#!/bin/sh\necho "$*" >> ${ran}\n[ "$1" = auth ] && exit ${signedIn}\necho '${says}'\n`;
  writeFileSync(join(bin, "claude"), script, { mode: 0o755 });
  return { bin, runs: () => readFileSync(ran, "utf8").trim().split("\n") };
}

function listOf(bin: string, more: Partial<ConstructorParameters<typeof EngineList>[0]> = {}) {
  const clock = { now: 1_000_000 };
  const list = new EngineList({
    ...{ settings: SETTINGS, ownPrograms: "/own", threadDirs: [join(folder.path, "repos")] },
    ...{ threadEnv: { PATH: bin }, stateDir: join(folder.path, "state"), now: () => clock.now },
    ...more,
  });
  const claude = async () => {
    const [program] = (await list.list()).find(({ name }) => name === "claude")?.programs ?? [];
    if (!program) throw new Error("there is no claude");
    return program;
  };
  return { list, clock, claude };
}

test("every engine is listed, with what its program says of itself", async () => {
  const { bin } = machine();
  const { list, claude } = listOf(bin);
  const engines = await list.list();
  expect(enginesReplySchema.parse({ engines }).engines.map(({ name }) => name)).toEqual(ENGINE_NAMES);
  expect(engines.filter(({ isDefault }) => isDefault).map(({ name }) => name)).toEqual(["claude"]);
  expect(await claude()).toEqual({
    ...{ name: "claude", isInstalled: true, path: join(bin, "claude"), version: "2.1.330" },
    ...{ isSignedIn: true, problem: null, install: expect.stringMatching(/^npm install/) },
    signIn: expect.stringContaining("auth login"),
  });
  expect(engines.find(({ name }) => name === "claude")).toMatchObject({
    can: expect.arrayContaining(["sees images", "asks questions"]),
    cannot: ["gives embeddings"],
    params: ["thinking", "maxInputTokens", "maxOutputTokens"],
  });
  expect(engines.find(({ name }) => name === "command")?.cannot).toContain("sees images");
});

test("one that is not there, too old or not signed in is not offered, and says what to type", async () => {
  const { list, claude } = listOf(join(folder.path, "nothing"));
  expect(await claude()).toMatchObject({ isInstalled: false, problem: "claude is not installed" });
  expect(engineChoices(await list.list()).map(({ value }) => value)).not.toContain("claude");
  const old = listOf(machine("2.0.0").bin);
  expect(await old.claude()).toMatchObject({ version: "2.0.0", problem: expect.stringContaining("too old") });
  const out = listOf(machine(undefined, 1).bin);
  expect(await out.claude()).toMatchObject({ isSignedIn: false });
  expect(engineChoices(await out.list.list()).map(({ value }) => value)).toEqual(["demo"]);
  const well = listOf(machine().bin);
  expect(engineChoices(await well.list.list()).map(({ value }) => value)).toEqual(["claude", "demo"]);
});

test("our own agent is signed in by the key of a person's own provider too, whatever else is wrong with files", async () => {
  const stateDir = join(folder.path, "with-providers");
  mkdirSync(join(stateDir, "providers"), { recursive: true });
  const put = (name: string, text: string) => writeFileSync(join(stateDir, "providers", name), text);
  put("mine.json", JSON.stringify({ key: "MINE_API_KEY", address: "MINE_BASE_URL" }));
  put("broken.json", "{");
  put("odd.json", JSON.stringify({ key: 7 }));
  const isSignedIn = async (env: Record<string, string>) => {
    const { list } = listOf(machine().bin, { stateDir, threadEnv: env });
    return (await list.list()).find(({ name }) => name === "own")?.programs[0]?.isSignedIn;
  };
  expect(await isSignedIn({})).toBe(false);
  expect(await isSignedIn({ MINE_API_KEY: "k" })).toBe(true);
  expect(await isSignedIn({ MINE_BASE_URL: "http://127.0.0.1:1/v1" })).toBe(true);
});

test("each agent that acp knows tells its version and its sign-in, and what to type", async () => {
  const bin = join(folder.path, "acp");
  mkdirSync(bin);
  const program = (name: string, version: string) =>
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nif [ "$*" = --version ]; then echo '${version}'; else [ "$*" = '--cli auth status' ]; fi\n`,
      { mode: 0o755 },
    );
  program("codex-acp", "@agentclientprotocol/codex-acp 2.6.0");
  program("gemini", "0.61.0");
  program("claude-agent-acp", "0.100.0");
  const { list } = listOf(bin, { threadEnv: { PATH: bin, GEMINI_API_KEY: "k" } });
  const acp = (await list.list()).find(({ name }) => name === "acp");
  const told = acp?.programs.map(({ name, version, isSignedIn, problem }) => ({
    ...{ name, version, isSignedIn, problem },
  }));
  expect(told).toEqual([
    { name: "codex-acp", version: "2.6.0", isSignedIn: null, problem: null },
    { name: "opencode", version: null, isSignedIn: null, problem: "opencode is not installed" },
    { name: "gemini", version: "0.61.0", isSignedIn: true, problem: null },
    { name: "claude-agent-acp", version: "0.100.0", isSignedIn: true, problem: null },
  ]);
  for (const { install, signIn } of acp?.programs ?? []) {
    expect(install).toMatch(/^npm install -g \S+@\d+\.\d+\.\d+$/);
    expect(signIn).not.toBe(null);
  }
});

test("programs that hang do not add up: later ones are not asked, and it is said", async () => {
  const bin = join(folder.path, "slow");
  mkdirSync(bin);
  for (const name of ["codex-acp", "opencode", "gemini"])
    writeFileSync(join(bin, name), "#!/bin/sh\necho 1.0.0\n", { mode: 0o755 });
  let looks = 0;
  // As if each had taken 15 s.
  const now = () => looks++ * 15_000;
  const { list } = listOf(bin, { threadEnv: { PATH: bin }, now });
  const acp = (await list.list()).find(({ name }) => name === "acp");
  expect(acp?.programs.map(({ name, version, problem }) => ({ name, version, problem }))).toEqual([
    { name: "codex-acp", version: "1.0.0", problem: null },
    {
      name: "opencode",
      version: null,
      problem: expect.stringMatching(/^it was not asked, since others took/),
    },
    { name: "gemini", version: null, problem: expect.stringMatching(/^it was not asked, since others took/) },
    { name: "claude-agent-acp", version: null, problem: "claude-agent-acp is not installed" },
  ]);
});

test("many who ask at once, and soon after, are one look", async () => {
  const { bin, runs } = machine();
  const { list, clock } = listOf(bin);
  await Promise.all(Array.from({ length: 20 }, () => list.list()));
  await list.list();
  expect(runs()).toEqual(["--version", "auth status"]);
  clock.now += 60_000;
  await list.list();
  expect(runs()).toHaveLength(4);
});

test("a program in a thread's directory is not run, also behind a link", async () => {
  const { bin, runs } = machine();
  const repos = join(folder.path, "repos");
  mkdirSync(join(repos, "bin"), { recursive: true });
  writeFileSync(join(repos, "bin", "claude"), readFileSync(join(bin, "claude")), { mode: 0o755 });
  const links = join(folder.path, "links");
  mkdirSync(links);
  symlinkSync(join(repos, "bin", "claude"), join(links, "claude"));
  for (const path of [join(repos, "bin"), links, "repos/bin"]) {
    const { claude } = listOf(path);
    expect(await claude()).toMatchObject({ version: null, isSignedIn: null });
  }
  expect(runs()).toEqual([""]);
});

test("the program of a person's own settings is asked, with its arguments", async () => {
  const { bin, runs } = machine();
  const settings = { ...SETTINGS, program: join(bin, "claude"), args: ["--settings", "x"] };
  const { claude } = listOf("/nowhere", { settings });
  expect(await claude()).toMatchObject({ name: join(bin, "claude"), version: "2.1.330" });
  expect(runs()[0]).toBe("--settings x --version");
  const command = listOf(bin, { settings: { ...SETTINGS, engine: "command", program: "claude" } });
  const state = (await command.list.list()).find(({ name }) => name === "command");
  expect(state).toMatchObject({ isDefault: true, takesProgram: true });
  expect(state?.programs).toEqual([
    expect.objectContaining({ name: "claude", isInstalled: true, version: null }),
  ]);
});
