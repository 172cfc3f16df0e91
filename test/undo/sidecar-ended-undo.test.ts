/** Undoing a turn of an agent that was killed: real sidecar, runner and git, the stand-in engine. */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { findProcessesOf } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(BYPASS_CONFIG);
});
afterAll(() => sidecar?.close());

const by = "discord:42";
const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
const git = (dir: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dir, encoding: "utf8" });

/** An agent that has changed three files, and is killed in the middle of its second call. */
async function killInTurn(threadId: string) {
  const { client, reposDir } = sidecar;
  const dir = join(reposDir, threadId);
  mkdirSync(dir);
  git(dir, "init", "-q");
  for (const name of ["a", "b", "theirs"]) writeFileSync(join(dir, name), "1\n");
  git(dir, "add", "-A");
  git(dir, "commit", "-qm", "first");
  const calls = [bash("echo 2 > a; echo 2 > theirs; rm b; echo 2 > new"), bash("echo half > a; sleep 300")];
  await client.createThread({
    ...{ threadId, type: "agent", dir: threadId },
    command: script("Do it", ...calls),
    agent: { permissionMode: "bypassPermissions" },
  });
  const read = (name: string) => readFileSync(join(dir, name), "utf8");
  await until("the second call", () => read("a") === "half\n", { timeoutMs: 20_000 });
  await client.killThread(threadId);
  writeFileSync(join(dir, "theirs"), "theirs\n");
  return { dir, read, status: () => git(dir, "status", "--porcelain") };
}

test("its turn is undone at once, the thread stays killed; and the undo is undone", async () => {
  const { client } = sidecar;
  const { dir, read, status } = await killInTurn("killed");
  const { outcome } = await client.controlAgent("killed", { control: "undo" });
  expect(outcome).toBe("undone: 3 files as before, a, b, new; left as they are: theirs (changed since)");
  expect([read("a"), read("b"), read("theirs"), existsSync(join(dir, "new"))]).toEqual([
    ...["1\n", "1\n", "theirs\n"],
    false,
  ]);
  expect(status()).toBe(" M theirs\n");
  expect((await client.getThread("killed")).status).toBe("killed");
  const [undone] = (await transcriptOf(sidecar, "killed")).filter(({ type }) => type === "undo");
  const turnId = undone?.type === "undo" ? undone.undoId : "";
  const again = await client.controlAgent("killed", { control: "undo", turnId });
  expect(again.outcome).toBe("undone: 3 files as before, a, b, new");
  expect([read("a"), existsSync(join(dir, "b"))]).toEqual(["half\n", false]);
  expect(findProcessesOf(join(sidecar.stateDir, "threads", "killed"))).toEqual([]);
  expect(await refusal(client.controlAgent("killed", { control: "pause" }))).toMatchObject({
    code: "thread_ended",
  });
});

test("of several at once each is done, and each is told what came of its own", async () => {
  const { client, stateDir } = sidecar;
  const { read } = await killInTurn("both");
  const turnId = lastChanges(stateDir, "both") ?? "";
  const undo = (id: string) => client.controlAgent("both", { control: "undo", turnId: id });
  // While the first is done, the others are stored.
  const [refused, first, second] = await Promise.all([
    refusal(undo("no-such-turn")),
    undo(turnId),
    undo(turnId),
  ]);
  const message = "turnId: this thread has no turn and no undo no-such-turn.";
  expect(refused).toEqual({ code: "not_found", message });
  expect(first.outcome).toMatch(/^undone: 3 files as before, a, b, new/);
  expect(second.outcome).toMatch(/^nothing was undone/);
  expect(read("a")).toBe("1\n");
});

// Promise: R9
test("an undo that the sidecar had stored when it died is done at its next start; without the folder it is refused", async () => {
  const { client, stateDir } = sidecar;
  const { read } = await killInTurn("stored");
  await sidecar.stop();
  const turnId = lastChanges(stateDir, "stored") ?? "";
  const line = { ts: new Date().toISOString(), op: "undo", turnId, by };
  appendFileSync(join(stateDir, "threads", "stored", "inbox.jsonl"), `${JSON.stringify(line)}\n`);
  await sidecar.restart();
  await until("the files", () => read("a") === "1\n");
  await until("what came of it", async () =>
    (await transcriptOf(sidecar, "stored")).some((event) => event.type === "undo" && event.files === 3),
  );
  expect((await client.getThread("stored")).status).toBe("killed");
  renameSync(join(stateDir, "threads", "stored"), join(stateDir, "threads", "away"));
  expect(await refusal(client.controlAgent("stored", { control: "undo" }))).toMatchObject({
    code: "thread_ended",
  });
});

test("a thread that goes on under a killed one's id gives its turns names of their own", async () => {
  const { client, reposDir } = sidecar;
  const dir = join(reposDir, "again");
  mkdirSync(dir);
  git(dir, "init", "-q");
  const begin = async (agent: object) => {
    // A new thread that knows the old one does what that was told.
    const command = script("Do it", bash("date +%s%N > a"), { text: "Done." });
    const thread = { threadId: "again", type: "agent", dir: "again" } as const;
    await client.createThread({
      ...thread,
      command,
      agent: { permissionMode: "bypassPermissions", ...agent },
    });
    await untilStatus(sidecar, "again", "idle");
  };
  const undo = (turnId?: string) => client.controlAgent("again", { control: "undo", turnId });
  await begin({});
  const [old = ""] = await namesOf("again");
  await client.killThread("again");
  await undo();
  const before = await namesOf("again");
  await begin({ originThreadId: "again" });
  const made = readFileSync(join(dir, "a"), "utf8");
  // A button below the old one's turn.
  expect(await refusal(undo(old))).toMatchObject({ code: "not_found" });
  expect(readFileSync(join(dir, "a"), "utf8")).toBe(made);
  await undo();
  await until("the undo", () => !existsSync(join(dir, "a")));
  expect((await namesOf("again")).filter((name) => before.includes(name))).toEqual([]);
});

/** Of all that can be undone. */
async function namesOf(threadId: string): Promise<string[]> {
  return (await transcriptOf(sidecar, threadId)).flatMap((event) =>
    event.type === "turn_changes" ? [event.turnId] : event.type === "undo" ? [event.undoId] : [],
  );
}

function lastChanges(stateDir: string, threadId: string): string | undefined {
  const text = readFileSync(join(stateDir, "threads", threadId, "transcript.jsonl"), "utf8");
  const events = text.split("\n").filter(Boolean);
  return events.map((line) => JSON.parse(line)).find(({ type }) => type === "turn_changes")?.turnId;
}
