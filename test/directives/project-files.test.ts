/** Agents' threads as files of their directories (`PROJECT_FILES=1`), whatever lies there before. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";
import { bash, git, worktreesOf } from "../support/worktrees.ts";

let sidecar: TestSidecar;
const { at, repository } = worktreesOf(() => sidecar);
beforeAll(async () => {
  sidecar = await startSidecar({ ...BYPASS_CONFIG, askFiles: true, projectFiles: true });
  const folder = join(sidecar.folders.home, ".claude", "agents");
  mkdirSync(folder, { recursive: true });
  const ours = "threadmux:\n  limits: { turns: 9 }\n  inputs: { branch: { type: id, default: main } }\n";
  writeFileSync(
    join(folder, "clerk.md"),
    `---\nname: clerk\ndescription: d\n${ours}---\nLook at {{branch}}.\n`,
  );
});
afterAll(() => sidecar?.close());

const BYPASS = { permissionMode: "bypassPermissions" };
const done = { text: "Done." };
const open = (threadId: string, dir: string, rounds: object[], agent: object = BYPASS) =>
  sidecar.client.createThread({
    ...({ threadId, type: "agent", dir } as const),
    command: script("Go", ...(rounds as never[])),
    agent,
  });
const json = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
const linesIn = (path: string) => readFileSync(path, "utf8").trim().split("\n");

async function placeOf(threadId: string, base?: string): Promise<string> {
  const { name = "", dir } = await sidecar.client.getThread(threadId);
  return join(base ?? at(dir), ".ai", "threads", name);
}
/** Waits until the files tell that the thread has come to it. */
async function untilTold(threadId: string, status: string, base?: string): Promise<string> {
  const place = await placeOf(threadId, base);
  const file = join(place, "thread.json");
  await until(
    `${threadId}'s files to be ${status}`,
    () => existsSync(file) && json(file)["status"] === status,
  );
  return place;
}

test("a thread is there for scripts, in its fields, and git and the turn's changes do not see it", async () => {
  repository("shop");
  const agent = { ...BYPASS, directive: "clerk", inputs: { branch: "next" }, limits: { spendUsd: 3 } };
  await open("told", "shop", [bash("echo new > made.txt"), done], agent);
  await untilStatus(sidecar, "told", "idle");
  const place = await untilTold("told", "idle");
  const name = place.split("/").at(-1) ?? "";
  expect(name).toMatch(/^clerk-\d{10}$/);
  expect(readdirSync(place).sort()).toEqual([
    "state.json",
    "thread.json",
    "transcript.jsonl",
    "transcript.md",
  ]);
  expect(json(join(place, "thread.json"))).toEqual({
    ...{ thread_id: "told", thread_mode: "conversation", status: "idle", awaiting: null, turn_count: 1 },
    ...{ cost: expect.any(Number), directive: "clerk", provider: "claude" },
  });
  expect(json(join(place, "state.json"))).toEqual({
    ...{ directive: "clerk", inputs: { branch: "next" }, cost: expect.any(Number) },
    ...{ limits: { turns: 9, spendUsd: 3 }, hooks: [], required_caps: [] },
  });
  const events = await transcriptOf(sidecar, "told");
  await until("all events", () => linesIn(join(place, "transcript.jsonl")).length === events.length);
  const told = linesIn(join(place, "transcript.jsonl")).map((line) => JSON.parse(line));
  expect(told).toEqual(events.map((event) => ({ directive: "clerk", ...event })));
  expect(readFileSync(join(place, "transcript.md"), "utf8")).toBe(
    readFileSync(join(sidecar.stateDir, "threads", "told", "transcript.md"), "utf8"),
  );
  expect(git(at("shop"), "status", "--porcelain")).toBe("?? made.txt");
  expect(events.find(({ type }) => type === "turn_changes")).toMatchObject({ files: 1 });
  await open("told-2", "shop", [
    bash("git add -A; git -c user.name=a -c user.email=a@a commit -qm all"),
    done,
  ]);
  await untilTold("told-2", "idle");
  expect(git(at("shop"), "ls-files")).not.toContain(".ai");
  const excluded = linesIn(join(at("shop"), ".git", "info", "exclude"));
  expect(excluded.filter((line) => line === ".ai/threads/")).toHaveLength(1);
});

test("more than one look may copy is copied by those that follow", async () => {
  repository("long");
  await open("long", "long", [done]);
  const place = await untilTold("long", "idle");
  const source = join(sidecar.stateDir, "threads", "long", "transcript.md");
  appendFileSync(source, `${"x".repeat(99_999)}\n`.repeat(60));
  const size = (path: string) => statSync(path).size;
  await until("all of it", () => size(join(place, "transcript.md")) === size(source));
  expect(readFileSync(join(place, "transcript.md")).equals(readFileSync(source))).toBe(true);
});

test("what is asked is there as a copy, and nothing that is written there answers it", async () => {
  repository("asks");
  await open("asks", "asks", [bash("touch made"), done], { permissionMode: "default" });
  const place = await untilTold("asks", "waiting");
  const folder = join(place, "approvals");
  await until("the request", () => existsSync(folder) && readdirSync(folder).length === 1);
  const [request = ""] = readdirSync(folder);
  expect(json(join(folder, request))).toMatchObject({ prompt: "Bash touch made", thread_id: "asks" });
  expect(json(join(place, "thread.json"))).toMatchObject({ awaiting: "permission" });
  writeFileSync(join(folder, request.replace("request", "response")), '{"approved": true}');
  // A file beside it in the thread's own folder answers in 2 s; one that does not fit there is set aside then.
  const own = join(sidecar.stateDir, "threads", "asks", "approvals");
  writeFileSync(join(own, request.replace("request", "response")), '{"approved": "maybe"}');
  const refused = join(own, request.replace("request", "refused"));
  await until("answers by files to be looked for", () => existsSync(refused));
  expect(await sidecar.client.listAsks("asks")).toHaveLength(1);
  const [ask] = await sidecar.client.listAsks("asks");
  await sidecar.client.answerAsk("asks", ask?.requestId ?? "", { optionId: "once" });
  await untilTold("asks", "idle");
  await until("the copy to be gone", () => !existsSync(join(folder, request)));
});

test("links, other names and FIFOs that lie there lead nowhere", async () => {
  const outside = join(sidecar.folders.home, "outside");
  mkdirSync(outside);
  const info = (dir: string) => join(dir, ".git", "info");
  const lays: Record<string, (dir: string) => void> = {
    "link-ai": (dir) => symlinkSync(outside, join(dir, ".ai")),
    "file-ai": (dir) => writeFileSync(join(dir, ".ai"), "mine"),
    "link-info": (dir) => {
      rmSync(info(dir), { recursive: true, force: true });
      symlinkSync(outside, info(dir));
    },
    "link-exclude": (dir) => {
      mkdirSync(info(dir), { recursive: true });
      rmSync(join(info(dir), "exclude"), { force: true });
      symlinkSync(join(outside, "x"), join(info(dir), "exclude"));
    },
    "file-git": (dir) => {
      rmSync(join(dir, ".git"), { recursive: true });
      writeFileSync(join(dir, ".git"), `gitdir: ${outside}\n`);
    },
  };
  for (const [dir, lay] of Object.entries(lays)) {
    repository(dir);
    lay(at(dir));
    await open(dir, dir, [done]);
    await untilStatus(sidecar, dir, "idle");
  }
  // Threads are looked at in order: once the next one's files are there, the others were tried.
  repository("after");
  await open("after", "after", [bash("mkdir later"), done]);
  const place = await untilTold("after", "idle");
  expect(readdirSync(outside)).toEqual([]);
  expect(readFileSync(join(at("file-ai"), ".ai"), "utf8")).toBe("mine");
  for (const dir of ["link-info", "link-exclude", "file-git"])
    expect(existsSync(join(at(dir), ".ai"))).toBe(false);

  const victim = join(sidecar.folders.home, "victim");
  writeFileSync(victim, "precious\n");
  rmSync(join(place, "transcript.jsonl"));
  symlinkSync(victim, join(place, "transcript.jsonl"));
  rmSync(join(place, "transcript.md"));
  linkSync(victim, join(place, "transcript.md"));
  rmSync(join(place, "thread.json"));
  execFileSync("mkfifo", [join(place, "thread.json")]);
  await sidecar.client.sendInput("after", { text: script("more", { text: "Later." }) });
  await until("the turn", async () =>
    (await transcriptOf(sidecar, "after")).some(
      (event) => event.type === "agent_message" && event.text === "Later.",
    ),
  );
  // A foreign file lies there: that thread is left alone, and another one is written.
  await open("last", "after", [done]);
  await untilTold("last", "idle");
  expect(readFileSync(victim, "utf8")).toBe("precious\n");
});

test("a file that somebody has changed is made anew, and a restart goes on without a line twice", async () => {
  repository("again");
  await open("again", "again", [done]);
  const place = await untilTold("again", "idle");
  writeFileSync(join(place, "transcript.jsonl"), "not ours\n");
  await sidecar.restart();
  await sidecar.client.sendInput("again", { text: script("more", { text: "After." }) });
  const ids = () =>
    linesIn(join(place, "transcript.jsonl")).map((line) =>
      line.startsWith("{") ? JSON.parse(line).seq : line,
    );
  await until("the new words", () =>
    readFileSync(join(place, "transcript.jsonl"), "utf8").includes("After."),
  );
  await untilStatus(sidecar, "again", "idle");
  const events = await transcriptOf(sidecar, "again");
  await until("all events", () => ids().length === events.length);
  expect(ids()).toEqual(events.map(({ seq }) => seq));
});

test("user space has them in the home, and a removed thread takes its own files with it", async () => {
  await open("roamer", "~", [bash("ls -A > seen"), done]);
  const place = await untilTold("roamer", "idle", sidecar.folders.home);
  expect(readFileSync(join(sidecar.stateDir, "home", "roamer", "seen"), "utf8")).toBe("seen\n");
  const kept = await placeOf("again");
  writeFileSync(join(kept, "mine.txt"), "mine");
  for (const { threadId } of await sidecar.client.listThreads()) await sidecar.client.killThread(threadId);
  await untilTold("roamer", "killed", sidecar.folders.home);
  await untilTold("again", "killed");
  await sidecar.restart({ logRetentionHours: 1e-9 });
  await until("its files to be gone", () => !existsSync(place) && !existsSync(join(kept, "thread.json")));
  expect(readdirSync(kept)).toEqual(["mine.txt"]);
});

test("it is off unless it is set", async () => {
  await sidecar.restart({ projectFiles: false });
  repository("quiet");
  await open("quiet", "quiet", [done]);
  await untilStatus(sidecar, "quiet", "idle");
  expect(existsSync(join(at("quiet"), ".ai"))).toBe(false);
});
