/** A conversation that a person began by hand goes on in a thread, in a fork; theirs stays. */
import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { cliAgents } from "../support/cli-agents.ts";
import { until } from "../support/wait.ts";

const at = cliAgents();

/** A directory below REPOS_DIR. */
function makePlace(name: string): string {
  const place = join(at.sidecar.reposDir, name);
  mkdirSync(place, { recursive: true });
  return place;
}

function fileOf(place: string, sessionId: string): string {
  const folder = join(at.sidecar.folders.home, ".claude/projects", place.replace(/[^a-zA-Z0-9]/g, "-"));
  mkdirSync(folder, { recursive: true });
  return join(folder, `${sessionId}.jsonl`);
}

type Line = Record<string, unknown>;

/** Lines as claude 2.1.330 writes them for a person at a terminal. */
function said(place: string, sessionId: string, ...turns: [string, string][]): Line[] {
  const common = { isSidechain: false, userType: "external", entrypoint: "cli", cwd: place, sessionId };
  const timestamp = "2026-11-20T10:00:00.000Z";
  return [
    { type: "mode", mode: "normal", sessionId },
    ...turns.flatMap(([asked, answer]) => [
      { ...common, type: "user", uuid: randomUUID(), timestamp, message: { role: "user", content: asked } },
      {
        ...common,
        type: "assistant",
        uuid: randomUUID(),
        timestamp,
        message: { id: `msg_${randomUUID()}`, role: "assistant", content: [{ type: "text", text: answer }] },
      },
    ]),
    { type: "last-prompt", lastPrompt: "x", sessionId },
  ];
}

/** @param agoS when it was written last */
function keep(place: string, sessionId: string, lines: Line[], agoS = 3_600): string {
  const file = fileOf(place, sessionId);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const time = Date.now() / 1_000 - agoS;
  utimesSync(file, time, time);
  return file;
}

const call = (place: string, ...args: string[]) => at.cli.call(["take", ...args], { cwd: place });

test("listed newest first, taken in a fork, and the person's own stays as it is", async () => {
  const place = makePlace("by hand");
  const [older, newer] = [randomUUID(), randomUUID()];
  keep(place, older, said(place, older, ["old words", "yes"]), 7_200);
  const file = keep(
    place,
    newer,
    said(place, newer, ["fix the login", "Which one?"], ["the first", "Done: m-1"]),
  );
  const before = readFileSync(file, "utf8");
  const listed = await call(place);
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  const rows = listed.stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(rows).toEqual([
    [newer, expect.any(String), "2 messages", "fix the login"],
    [older, expect.any(String), "1 message", "old words"],
  ]);

  const taken = await call(place, newer.slice(0, 8));
  expect(taken.stderr).toContain(`your own conversation stays as it is: claude --resume ${newer}\n`);
  expect(taken.code).toBe(0);
  const threadId = taken.stdout.trim();
  const thread = await untilStatus(at.sidecar, threadId, "idle");
  expect(thread).toMatchObject({ title: "fix the login", dir: "by hand", home: { channelId: null } });
  // People see what was said before anything is said here.
  const initial = await until("what was said before", async () => {
    const events = (await transcriptOf(at.sidecar, threadId)).filter(
      ({ type }) => type === "initial_message",
    );
    return events.length === 4 ? events : undefined;
  });
  expect(initial).toMatchObject([
    { role: "user", text: "fix the login" },
    { role: "assistant", text: "Which one?" },
    { role: "user", text: "the first" },
    { role: "assistant", text: "Done: m-1" },
  ]);

  await at.sidecar.client.sendInput(threadId, { text: script("go on", { text: "Going on." }) });
  await until("the answer", async () => (await wordsOf(at.sidecar, threadId)).includes("Going on."));
  const [start] = (await transcriptOf(at.sidecar, threadId)).filter(({ type }) => type === "engine_start");
  expect(start).not.toHaveProperty("reseeded");
  const sessionId = start && "sessionId" in start ? start.sessionId : "";
  expect(sessionId).not.toBe(newer);
  await untilStatus(at.sidecar, threadId, "idle");
  const fork = await until("the fork's file", () => readIfThere(fileOf(place, sessionId)));
  expect(fork).toContain("Done: m-1");
  expect(readFileSync(file, "utf8")).toBe(before);
  // The thread's own conversation was begun by no hand.
  expect((await call(place)).stdout.trimEnd().split("\n")).toHaveLength(2);
  // A person who goes on by hand with what a program has begun has it back.
  const byProgram = said(place, older, ["by program", "yes"]).map((line) => ({
    ...line,
    entrypoint: "sdk-cli",
  }));
  keep(place, older, [...byProgram, ...said(place, older, ["by hand", "yes"])]);
  expect((await call(place)).stdout).toMatch(new RegExp(`^${older}\t\\S+\t2 messages\tby program$`, "m"));
});

function readIfThere(file: string): string | undefined {
  return statSync(file, { throwIfNoEntry: false }) && readFileSync(file, "utf8");
}

test("a call that has no result is left out of the fork; a first message can come with it", async () => {
  const place = makePlace("cut");
  const id = randomUUID();
  const lines = said(place, id, ["look", "I look."]);
  const last = lines.findLast(({ type }) => type === "assistant") as Line;
  const use = { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "sleep 9" } };
  const open = { ...last, uuid: randomUUID(), message: { role: "assistant", content: [use] } };
  keep(place, id, [...lines, open]);
  const { stdout, code } = await call(place, id, "--no-discord", "--", script("and now", { text: "Now." }));
  expect(code).toBe(0);
  const threadId = stdout.trim();
  await until("the answer", async () => (await wordsOf(at.sidecar, threadId)).includes("Now."));
  const config = readFileSync(join(at.sidecar.stateDir, "threads", threadId, "thread.json"), "utf8");
  expect(JSON.parse(config)).toMatchObject({ taken: { sessionId: id, at: last["uuid"] } });
  expect((await at.sidecar.client.getThread(threadId)).home ?? null).toBeNull();
});

test("if the conversation is gone before the first message, the agent is told what was said", async () => {
  const place = makePlace("gone");
  const id = randomUUID();
  const file = keep(place, id, said(place, id, ["remember s-7", "I will."]));
  const threadId = (await call(place, id)).stdout.trim();
  await untilStatus(at.sidecar, threadId, "idle");
  truncateSync(file);
  await at.sidecar.client.sendInput(threadId, { text: script("well?", { text: "Well." }) });
  await until("the answer", async () => (await wordsOf(at.sidecar, threadId)).includes("Well."));
  const events = await transcriptOf(at.sidecar, threadId);
  expect(events.filter(({ type }) => type === "engine_start")).toMatchObject([{ reseeded: true }]);
  expect(events).toContainEqual(
    expect.objectContaining({ type: "notice", title: "The conversation goes on from a transcript" }),
  );
});

test("what is open in a claude, or was written a moment ago, is refused unless it is wanted anyway", async () => {
  const place = makePlace("open");
  const [held, fresh] = [randomUUID(), randomUUID()];
  keep(place, held, said(place, held, ["held", "yes"]));
  keep(place, fresh, said(place, fresh, ["fresh", "yes"]), 1);
  const sessions = join(at.sidecar.folders.home, ".claude/sessions");
  mkdirSync(sessions, { recursive: true });
  const stat = readFileSync(`/proc/${process.pid}/stat`, "utf8");
  const procStart = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  const note = (pid: number, more: object) =>
    writeFileSync(
      join(sessions, `${pid}.json`),
      JSON.stringify({ pid, sessionId: held, procStart, ...more }),
    );
  note(process.pid, {});
  writeFileSync(join(sessions, "1.json"), "no JSON");
  expect(await call(place, held)).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(`is open in a claude, process ${process.pid}: .* --anyway takes it`),
  });
  expect(await call(place, fresh)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("was written to a moment ago"),
  });
  expect(JSON.parse((await call(place, "--json")).stdout)).toMatchObject({
    conversations: [
      { sessionId: fresh, openPid: null },
      { sessionId: held, openPid: process.pid },
    ],
  });
  expect((await call(place, fresh, "--anyway")).code).toBe(0);
  // The number is another process's by now.
  note(process.pid, { procStart: "1" });
  expect((await call(place, held)).code).toBe(0);
});

test("what is no conversation of this directory is refused in words, and nothing of it acts on the screen", async () => {
  const place = makePlace("odd");
  const other = makePlace("other");
  const [theirs, programs, empty, garbage, linked, hostile] = Array.from({ length: 6 }, () => randomUUID());
  const byProgram = said(place, programs!, ["by program", "yes"]).map((line) => ({
    ...line,
    entrypoint: "sdk-cli",
  }));
  keep(place, theirs!, said(other, theirs!, ["elsewhere", "yes"]));
  keep(place, programs!, byProgram);
  keep(place, empty!, []);
  writeFileSync(fileOf(place, garbage!), Buffer.from([0, 255, 10, 123, 10]));
  const secret = join(at.sidecar.folders.home, "secret");
  writeFileSync(secret, `${JSON.stringify(said(place, linked!, ["secret", "yes"])[1])}\n`);
  symlinkSync(secret, fileOf(place, linked!));
  const words = "\u001b]0;owned\u0007\u202ehi\tthere\nsecond\u200b line";
  keep(place, hostile!, said(place, hostile!, [words, "yes"], ["<command-name>/clear</command-name>", "no"]));
  expect((await call(place)).stdout).toMatch(
    new RegExp(`^${hostile}\\t\\S+\\t1 message\\t\ufffd]0;owned\ufffd\ufffdhi there second\ufffd line\\n$`),
  );
  const attempts: [string, string, number, RegExp][] = [
    [
      place,
      "abcdef",
      3,
      /session: no conversation of this directory has an id that begins with "abcdef"; there are /,
    ],
    [other, "abcdef", 3, /; no claude conversation that was begun by hand in \S+other is in \S+projects/],
    [place, "-", 3, /begins with "-"/],
    [place, randomUUID(), 3, /sessionId: no conversation \S+ is in \S+projects/],
    [place, theirs!, 2, /was begun in "\S+other"; take it there/],
    [place, empty!, 2, /is no conversation of claude's/],
    [place, garbage!, 2, /is no conversation of claude's/],
    [place, linked!, 2, /is no conversation of claude's/],
    [at.sidecar.folders.home, hostile!, 2, /is outside .+; take works on the sidecar's own machine alone/],
  ];
  for (const [cwd, session, code, stderr] of attempts)
    expect(await call(cwd, "--", session)).toMatchObject({ code, stderr: expect.stringMatching(stderr) });
  const { stdout } = await call(place, hostile!);
  expect((await at.sidecar.client.getThread(stdout.trim())).title).toBe("]0;ownedhi there second line");
});

test("a thread is called as claude called the conversation, unless a person called it something", async () => {
  const place = makePlace("titled");
  const [byModel, byPerson, hostile] = [randomUUID(), randomUUID(), randomUUID()];
  const ai = (aiTitle: string, sessionId: string) => ({ type: "ai-title", aiTitle, sessionId });
  const custom = (customTitle: string, sessionId: string) => ({
    type: "custom-title",
    customTitle,
    sessionId,
  });
  const talk = (id: string) => said(place, id, ["please look at the login", "It is fixed."]);
  keep(
    place,
    byModel,
    [ai("A first guess", byModel), ...talk(byModel), ai("Fix the login form", byModel)],
    9_000,
  );
  keep(
    place,
    byPerson,
    [custom("my login", byPerson), ...talk(byPerson), ai("Fix the login", byPerson)],
    8_000,
  );
  keep(
    place,
    hostile,
    [
      ...talk(hostile),
      ai(`\u001b]0;x\u0007a\nb\u202e${"c".repeat(5_000)}`, hostile),
      { type: "ai-title", aiTitle: 5 },
    ],
    7_000,
  );
  const { conversations } = JSON.parse((await call(place, "--json")).stdout);
  expect(conversations.map(({ title }: { title: string }) => title)).toEqual([
    expect.stringMatching(/^\]0;xa bc{90,}…$/),
    "my login",
    "Fix the login form",
  ]);
  const { stdout } = await call(place, byModel, "--no-discord");
  expect(await at.sidecar.client.getThread(stdout.trim())).toMatchObject({ title: "Fix the login form" });
  const named = await call(place, byModel, "--no-discord", "--title", "mine");
  expect(await at.sidecar.client.getThread(named.stdout.trim())).toMatchObject({ title: "mine" });
});
