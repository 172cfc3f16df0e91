/** Agents whose commands are kept in: what they see of the state folder, and that all goes on as without a sandbox. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { TRUST_OPTION } from "../../shared/agent/trust.ts";
import { seededRandom } from "../../shared/random.ts";
import { findSandbox } from "../../vm/agents/sandbox.ts";
import { folderOf, processesOf, SIEGE_ENV, Siege } from "../support/agent-siege.ts";
import { bash } from "../support/agent-threads.ts";
import { findFaults } from "../support/agent-truth.ts";
import { BYPASS_CONFIG, openAgent, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { makeSidecarFolders, spawnSidecar, startSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const place = makeFolder();
const found = await findSandbox("state", place.path, { PATH: process.env["PATH"] ?? "" });
place.remove();
const has = found.sandbox !== undefined;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const rounds = (...commands: string[]) => commands.map((command) => ({ tools: [bash(command)] }));

test("the sandbox that this machine makes for these tests", () => {
  console.log(
    has ? `sandbox: ${found.health.form}` : `NOT TESTED here, the machine refuses: ${found.health.problem}`,
  );
  if (process.env["CI"]) expect(found.health.problem).toBeNull();
});

describe.runIf(has)("in the sandbox", () => {
  // Promise: S17
  test("a clone's links, and words that no rule knows, lead to nothing of the state folder", async () => {
    const folders = makeSidecarFolders();
    const config = { ...BYPASS_CONFIG, token: undefined, sandbox: "state" as const };
    const sidecar = await startSidecar(config, { folders });
    closing.push(sidecar.close);
    const token = readFileSync(join(folders.stateDir, "token"), "utf8").trim();
    mkdirSync(join(folders.reposDir, "spy"));
    symlinkSync(join("..", "..", "s"), join(folders.reposDir, "spy", "docs"));
    const tries = rounds(
      "cat docs/t*",
      "grep -aRm1 -D skip . docs/ | head -c 5000",
      "cat docs/*/*/*.json",
      "cd docs; ls -A; cat to?en",
      "echo here > made; pwd",
    );
    await openAgent(sidecar, "spy", script("look", ...tries, { text: "Done." }), {
      agent: { permissionMode: "bypassPermissions" },
    });
    // The link is asked about: whoever trusts the directory all the same is kept in.
    await until("the trust question", async () => (await sidecar.client.listAsks("spy")).length === 1);
    const [ask] = await sidecar.client.listAsks("spy");
    expect(JSON.stringify(ask)).toContain("docs: a link to threadmux's state folder");
    await sidecar.client.answerAsk("spy", ask?.requestId ?? "", { optionId: TRUST_OPTION });
    await untilStatus(sidecar, "spy", "idle");
    const events = await transcriptOf(sidecar, "spy");
    const calls = events.filter((event) => event.type === "tool_call");
    expect(calls).toHaveLength(tries.length);
    for (const secret of [token, "SQLite", "inbox", "thread.json"])
      expect(JSON.stringify(events)).not.toContain(secret);
    expect(readFileSync(join(folders.reposDir, "spy", "made"), "utf8")).toBe("here\n");
    expect((await sidecar.client.getHealth()).sandbox).toEqual({
      mode: "state",
      form: found.health.form,
      problem: null,
    });
  });

  // Promise: S17
  test("workspace: an agent works in its worktree, sees nobody else's, and its turn is undone", async () => {
    const folders = makeSidecarFolders();
    const git = (dir: string, ...args: string[]) =>
      spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], {
        cwd: join(folders.reposDir, dir),
      });
    for (const name of ["shop", "other"]) {
      mkdirSync(join(folders.reposDir, name));
      writeFileSync(join(folders.reposDir, name, "file"), `${name}-kumquat`);
      for (const args of [
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "first"],
      ])
        git(name, ...args);
    }
    writeFileSync(join(folders.home, ".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n");
    const sidecar = await startSidecar({ ...BYPASS_CONFIG, sandbox: "workspace" }, { folders });
    closing.push(sidecar.close);
    const tries = rounds(
      "cat file > made; git add made; git commit -qm second; git log --format=%an:%s -1; pwd",
      `cat ${folders.reposDir}/other/file; ls ${folders.reposDir} ${folders.home} ${folders.stateDir} -A; echo x > /tmp/x; cat /tmp/x`,
      "echo more > new",
    );
    await sidecar.client.createThread({
      ...({ threadId: "a", type: "agent", dir: "shop" } as const),
      command: script("work", ...tries, { text: "Done." }),
      agent: { permissionMode: "bypassPermissions", workspace: "worktree" },
    });
    await until("its words", async () => (await wordsOf(sidecar, "a")).includes("Done."));
    const text = JSON.stringify(await transcriptOf(sidecar, "a"));
    expect(text).toContain("Ann:second");
    expect(text).not.toContain("other-kumquat");
    const { worktree } = JSON.parse(readFileSync(join(folderOf(sidecar, "a"), "thread.json"), "utf8"));
    const isThere = () => existsSync(join(worktree.path, "new"));
    await untilStatus(sidecar, "a", "idle");
    expect(isThere()).toBe(true);
    const turn = (await transcriptOf(sidecar, "a")).find((event) => event.type === "turn_start");
    await sidecar.client.controlAgent("a", {
      ...({ control: "undo" } as const),
      turnId: turn?.type === "turn_start" ? turn.turnId : "",
    });
    await until("the file to be gone", () => !isThere());
    expect((await sidecar.client.getHealth()).sandbox).toEqual({
      mode: "workspace",
      form: "bwrap",
      problem: null,
    });
    // The thread's own home and temporary folder are there for the next process.
    await sidecar.client.controlAgent("a", { control: "pause" });
    await until("no process to be left", () => processesOf(folderOf(sidecar, "a")).length === 0);
    await sidecar.client.controlAgent("a", { control: "resume" });
    await sidecar.client.sendInput("a", {
      text: script("more", ...rounds("cat /tmp/x > kept"), { text: "Again." }),
    });
    await until("its words", async () => (await wordsOf(sidecar, "a")).includes("Again."));
    expect(readFileSync(join(worktree.path, "kept"), "utf8")).toBe("x\n");
  });

  test("attachments are read, Stop, pause, a new runner and the next process work", async () => {
    const folders = makeSidecarFolders();
    const sidecar = await startSidecar({ ...BYPASS_CONFIG, sandbox: "state" }, { folders });
    closing.push(sidecar.close);
    await openAgent(sidecar, "a", script("hello", ...rounds("sleep 60"), { text: "woke" }), {
      agent: { permissionMode: "bypassPermissions" },
    });
    const isRunning = async () => (await transcriptOf(sidecar, "a")).some(({ type }) => type === "tool_call");
    await until("the command to run", isRunning);
    await sidecar.client.controlAgent("a", { control: "interrupt" });
    await untilStatus(sidecar, "a", "idle");
    const send = (text: string) => sidecar.client.sendInput("a", { text });
    await send(script("again", { text: "Answered." }));
    await until("an answer", async () => (await wordsOf(sidecar, "a")).includes("Answered."));
    await sidecar.restart();
    await send(script("more", { text: "After the restart." }));
    await until("an answer", async () => (await wordsOf(sidecar, "a")).includes("After the restart."));
    expect(processesOf(folderOf(sidecar, "a")).length).toBeGreaterThan(0);
    await sidecar.client.killThread("a");
    await until("no process to be left", () => processesOf(folderOf(sidecar, "a")).length === 0);
  });

  test.each(["state", "workspace"])(
    "runners, engines and the sidecar are killed: nothing is lost, nothing happens twice: %s",
    {
      timeout: 150_000,
    },
    async (mode) => {
      const sidecar = await spawnSidecar({ ...SIEGE_ENV, AGENT_SANDBOX: mode });
      closing.push(sidecar.close);
      const options = {
        sidecar,
        threadIds: ["a"],
        victims: ["runner", "engine", "both", "sidecar"] as const,
      };
      const report = await new Siege({ ...options, kills: 3, random: seededRandom(7) }).run();
      expect(report.twins).toEqual([]);
      expect(findFaults(sidecar, "a", report)).toEqual([]);
      await sidecar.client.killThread("a");
      await until("no process to be left", () => processesOf(folderOf(sidecar, "a")).length === 0);
    },
  );
});

// Promise: S17
test("a machine that refuses says so, and agents work without", async () => {
  const folders = makeSidecarFolders();
  const env = { HOME: folders.home, PATH: "/nowhere" };
  expect((await findSandbox("state", folders.path, env)).health).toMatchObject({
    form: null,
    problem: expect.stringMatching(/bwrap: it is not installed$/),
  });
  expect((await findSandbox("off", folders.path, env)).health).toEqual({
    mode: "off",
    form: null,
    problem: null,
  });
  await folders.close();
});

test("workspace where the machine can't make it is no start", async () => {
  const folders = makeSidecarFolders();
  const threadEnv = { HOME: folders.home, PATH: "/nowhere" };
  await expect(
    startSidecar({ ...BYPASS_CONFIG, sandbox: "workspace", threadEnv }, { folders }),
  ).rejects.toThrow(
    /^AGENT_SANDBOX: this machine can't make workspace \(bwrap: it is not installed\); install bubblewrap/,
  );
});
