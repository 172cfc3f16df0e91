/** User space (`dir: "~"`): threads without a repository, each in a directory of its own. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TRUST_OPTION } from "../../shared/agent/trust.ts";
import { findSandbox } from "../../vm/agents/sandbox.ts";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { buildCli } from "../support/cli.ts";
import { makeFolder } from "../support/folders.ts";
import { callTool } from "../support/mcp.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilEnded } from "../support/threads.ts";
import { bringHooks } from "../support/trust.ts";
import { until, untilValue } from "../support/wait.ts";
import { bash } from "../support/worktrees.ts";

const BYPASS = { permissionMode: "bypassPermissions" };

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(BYPASS_CONFIG);
});
afterAll(() => sidecar?.close());

const spaceOf = (id: string, side = sidecar) => join(side.folders.stateDir, "home", id);
const open = (id: string, command: string, more: object = {}, side = sidecar) =>
  side.client.createThread({ threadId: id, type: "agent", dir: "~", command, agent: BYPASS, ...more });

// Promise: S6
test("a terminal and an agent work in an empty directory of their own", async () => {
  await openTerminal(sidecar.client, "term", "pwd; ls -A; echo x > mine", { dir: "~" });
  expect((await untilEnded(sidecar.client, "term")).output.trim()).toBe(spaceOf("term"));
  expect(await sidecar.client.getThread("term")).toMatchObject({ dir: "~" });
  await open("ann", script("work", bash("pwd > where; ls -A >> where"), { text: "Done." }));
  await untilStatus(sidecar, "ann", "idle");
  expect(readFileSync(join(spaceOf("ann"), "where"), "utf8")).toBe(`${spaceOf("ann")}\nwhere\n`);
  expect(await sidecar.client.getThread("ann")).toMatchObject({
    dir: "~",
    title: expect.stringMatching(/^~/),
  });
});

test("a child and a branch work in their parent's, and a child in no other", async () => {
  await open("head", script("work", bash("mkdir sub"), { text: "Done." }));
  await untilStatus(sidecar, "head", "idle");
  const spawn = (input: object, callId: string) =>
    callTool(sidecar, { threadId: "head", name: "spawn_thread", callId, input: { mode: "async", ...input } });
  const prompt = script("go", bash("pwd > where"), { text: "Child." });
  expect(await spawn({ prompt, dir: "sub" }, "c1")).not.toContain("must be");
  await until("the child's file", () => existsSync(join(spaceOf("head"), "sub", "where")));
  for (const dir of ["~", "../ann", spaceOf("ann"), sidecar.reposDir])
    expect(await spawn({ prompt, dir }, `c-${dir}`)).toContain(
      "dir: must be a directory below this thread's",
    );
  const text = script("more", bash("pwd > branched"), { text: "Branch." });
  await sidecar.client.branchThread("head", { threadId: "twig", lockParent: false, text });
  await untilStatus(sidecar, "twig", "idle");
  expect(readFileSync(join(spaceOf("head"), "branched"), "utf8").trim()).toBe(spaceOf("head"));
  expect(existsSync(spaceOf("twig"))).toBe(false);
  // One that only knows the conversation works where its maker says.
  mkdirSync(join(sidecar.reposDir, "shop"));
  const knows = { ...BYPASS, originThreadId: "head" };
  const goOn = script("Go on.", bash("mkdir sub"), { text: "Done." });
  await open("knows", goOn, { dir: "shop", agent: knows });
  await until("its directory", () => existsSync(join(sidecar.reposDir, "shop", "sub")));
});

async function ask(method: string, path: string, body?: object) {
  const response = await fetch(`${sidecar.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${sidecar.token}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const reply = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw Object.assign(new Error(String(reply["error"])), { code: reply["code"] });
  return reply;
}

test("a person's own directives are found there, and in a channel of user space threads have one each", async () => {
  const folder = join(sidecar.folders.home, ".claude", "agents");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "clerk.md"), "---\nname: clerk\ndescription: d\n---\nKeep order.\n");
  const { directives: found } = await ask("GET", "/directives?dir=~");
  expect(found).toMatchObject([{ as: "clerk" }]);
  await open("clerk-1", script("c", { text: "Ordered." }), { agent: { directive: "clerk" } });
  await untilStatus(sidecar, "clerk-1", "idle");
  expect(await sidecar.client.getThread("clerk-1")).toMatchObject({ directive: "clerk", dir: "~" });
  const { channel } = await ask("PUT", "/channel/123456789012345678", {
    ...{ dir: "~", mode: "mention", directive: "clerk" },
  });
  expect(channel).toMatchObject({ dir: "~", directive: "clerk" });
  expect(await ask("GET", "/repos?prefix=~")).toEqual({
    repos: [{ dir: "~" }],
  });
});

test("a job's runs have one each, and a command is refused one", async () => {
  const add = (name: string, what: object, more: object = {}) =>
    ask("POST", "/jobs", { name, when: { type: "at", at: "2030-01-01T09:00:00Z" }, what, ...more });
  await add("tidy", {
    type: "agent",
    dir: "~",
    prompt: script("t", { text: "Tidied." }),
  });
  await ask("POST", "/jobs/tidy/run", {});
  const made = await untilValue(
    "the run's thread",
    async () => (await sidecar.client.listThreads({ status: "all" })).find(({ title }) => title === "tidy"),
    (thread) => thread?.status === "idle",
  );
  expect(made).toMatchObject({ dir: "~" });
  expect(existsSync(spaceOf(made?.threadId ?? ""))).toBe(true);
  for (const [what, more] of [
    [{ type: "command", dir: "~", command: "ls" }],
    [{ type: "agent", dir: "~", prompt: "p" }, { check: "ls" }],
    [
      { type: "agent", dir: "~", prompt: "p" },
      { heartbeat: true, when: { type: "every", seconds: 3_600 } },
    ],
  ] as const)
    expect(await refusal(add("no", what, more))).toMatchObject({
      code: "invalid_directory",
      message: expect.stringContaining('dir: "~" is user space'),
    });
});

test.each<[string, () => Promise<unknown>, RegExp]>([
  ["below it", () => openTerminal(sidecar.client, "x", "ls", { dir: "~/x" }), /^dir: "~\/x" can't be named/],
  [
    "another user's",
    () => openTerminal(sidecar.client, "x", "ls", { dir: "~root" }),
    /^dir: "~root" does not exist/,
  ],
  [
    "with dirId",
    () => openTerminal(sidecar.client, "x", "ls", { dir: "~", dirId: "1:2:3" }),
    /^dirId: is for a directory/,
  ],
  [
    "its path",
    () => openTerminal(sidecar.client, "x", "ls", { dir: spaceOf("ann") }),
    /^dir: .* is outside of the repositories' folder/,
  ],
  [
    "a worktree",
    () => open("x", "go", { agent: { workspace: "worktree" } }),
    /^agent.workspace: "~" is in no git repository/,
  ],
  [
    "logs",
    () => ask("POST", "/logs/create", { threadId: "x", dir: "~", service: "a" }),
    /^dir: "~" is user space/,
  ],
  ["memory", () => ask("GET", "/memory?dir=~"), /^dir: "~" is user space/],
  ["conversations", () => ask("GET", "/conversations?dir=~"), /^dir: "~" is user space/],
])("%s is refused, with the field's name", async (_, call, words) => {
  expect((await refusal(call())).message).toMatch(words);
  expect(existsSync(spaceOf("x"))).toBe(false);
});

test("what an agent has brought there is asked about before it counts", async () => {
  await open("own", script("work", { text: "Done." }));
  await untilStatus(sidecar, "own", "idle");
  const { hasRun } = bringHooks(spaceOf("own"));
  await sidecar.client.killThread("own");
  await open("heir", script("knows", { text: "Again." }), { agent: { ...BYPASS, originThreadId: "own" } });
  const asks = await untilValue(
    "the question",
    () => sidecar.client.listAsks("heir"),
    (all) => all.length > 0,
  );
  expect(JSON.stringify(asks)).toContain(".claude/settings.json");
  expect(hasRun()).toEqual([]);
  await sidecar.client.answerAsk("heir", asks[0]?.requestId ?? "", { optionId: TRUST_OPTION });
  await untilStatus(sidecar, "heir", "idle");
});

test("the command line takes it, and a directory is gone with the last thread that worked in it", async () => {
  const cli = await buildCli(sidecar);
  const made = await cli.done("new", "--agent", "~", "--id", "typed", "--", script("p", { text: "Typed." }));
  expect(made).toContain("typed");
  await untilStatus(sidecar, "typed", "idle");
  expect(existsSync(spaceOf("typed"))).toBe(true);

  await sidecar.client.killThread("head");
  expect(await refusal(open("head", "again"))).toMatchObject({
    code: "thread_exists",
    message: expect.stringContaining("threadId: the files of an earlier thread head are at"),
  });
  symlinkSync(sidecar.reposDir, join(spaceOf("head"), "link"));
  await sidecar.restart({ logRetentionHours: 1e-9 });
  await until(
    "the parent to be gone",
    async () =>
      (await refusal(sidecar.client.getThread("head")).catch(() => ({ code: "" }))).code === "not_found",
  );
  // Its branch still works there.
  expect(existsSync(join(spaceOf("head"), "branched"))).toBe(true);
  for (const { threadId } of await sidecar.client.listThreads())
    if (threadId !== "ann") await sidecar.client.killThread(threadId);
  await sidecar.restart({ logRetentionHours: 1e-9 });
  await until("the directory to be gone", () => readdirSync(join(sidecar.stateDir, "home")).join() === "ann");
  expect(existsSync(join(sidecar.reposDir, "shop", "sub"))).toBe(true);
});

for (const mode of ["state", "workspace"] as const) {
  const place = makeFolder();
  const env = { PATH: process.env["PATH"] ?? "", HOME: place.path };
  const { sandbox } = await findSandbox(mode, place.path, env);
  place.remove();
  describe.runIf(sandbox !== undefined)(`in the sandbox ${mode}`, () => {
    // Promise: S17
    test("an agent writes in its own directory, and sees nobody else's", async () => {
      const folders = makeSidecarFolders();
      const kept = await startSidecar({ ...BYPASS_CONFIG, sandbox: mode }, { folders });
      try {
        await openTerminal(kept.client, "other", "echo kumquat > secret", { dir: "~" });
        await untilEnded(kept.client, "other");
        const look = `cat ${spaceOf("other", kept)}/secret; ls -A ${join(spaceOf("other", kept), "..")}; echo x > mine; cat mine`;
        await open("kept", script("work", bash(look), { text: "Done." }), {}, kept);
        await until("its words", async () => (await wordsOf(kept, "kept")).includes("Done."));
        const told = JSON.stringify(await transcriptOf(kept, "kept"));
        expect(told).not.toContain('kumquat\\n"');
        expect(told).toContain("No such file");
        expect(readFileSync(join(spaceOf("kept", kept), "mine"), "utf8")).toBe("x\n");
      } finally {
        await kept.close();
      }
    });
  });
}
