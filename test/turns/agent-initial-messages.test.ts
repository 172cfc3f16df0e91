/** Threads that begin with a conversation that was held elsewhere: their model knows it, once, and they show it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EventOf } from "../../shared/agent/events.ts";
import { MAX_INITIAL_BYTES, MAX_INITIAL_MESSAGES } from "../../shared/agent/initial-messages.ts";
import { ENGINE_FOLDER_MARKER } from "../../shared/agent/markers.ts";
import type { CreateRequest } from "../../shared/api.ts";
import { folderOf, runnersOf, SIEGE_ENV } from "../support/agent-siege.ts";
import { STAND_IN, STAND_IN_CONFIG, script, standIn, transcriptOf, untilStatus } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { heardBy, sessionOf } from "../support/heard.ts";
import { listProcesses, signal } from "../support/processes.ts";
import { spawnSidecar, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

type Messages = NonNullable<CreateRequest["initialMessages"]>;
type Side = Pick<TestSidecar, "client" | "reposDir" | "stateDir" | "folders">;

const HELD: Messages = [
  { role: "user", text: "m-1" },
  { role: "assistant", text: "t-1" },
  { role: "user", text: "m-2" },
];
const KNOWN = ["m-1", "t-1", "m-2"];

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

async function begin(side: Side, threadId: string, initialMessages: Messages, more: object = {}) {
  mkdirSync(join(side.reposDir, threadId), { recursive: true });
  const command = script("m-9", { text: "t-9" });
  const thread = { threadId, type: "agent", dir: threadId, command } as const;
  return side.client.createThread({ ...thread, initialMessages, ...more });
}

/** @returns what the model had heard and said before this message */
async function say(threadId: string, word: string): Promise<string[]> {
  await sidecar.client.sendInput(threadId, { text: script(word, { text: "Yes." }) });
  await until(word, () => heardBy(sidecar, threadId).includes(word));
  await untilStatus(sidecar, threadId, "idle");
  const heard = heardBy(sidecar, threadId);
  return heard.slice(0, heard.indexOf(word));
}

async function shownIn(side: Side, threadId: string): Promise<EventOf<"initial_message">[]> {
  const events = await transcriptOf(side, threadId);
  return events.flatMap((event) => (event.type === "initial_message" ? [event] : []));
}

function forgetSession(threadId: string): void {
  const projects = join(sidecar.folders.home, ".claude", "projects");
  const name = `${sessionOf(sidecar.stateDir, threadId)}.jsonl`;
  const project = readdirSync(projects).find((one) => existsSync(join(projects, one, name)));
  rmSync(join(projects, project ?? "", name));
}

test("its model's first request holds them once and whole, before the prompt; nothing can change them", async () => {
  const words = "wörd ".repeat(17_000);
  const long = { role: "assistant", text: `t-3 ${words}\nYou: t-4 ${words}` } as const;
  await begin(sidecar, "told", [...HELD, long]);
  await untilStatus(sidecar, "told", "idle");
  expect(heardBy(sidecar, "told")).toEqual([...KNOWN, "t-3", "t-4", "m-9", "t-9"]);
  const events = await transcriptOf(sidecar, "told");
  expect(events.slice(1, 6).map(({ type }) => type)).toEqual([
    ...Array(4).fill("initial_message"),
    "user_message",
  ]);
  expect(events[1]).toMatchObject({ role: "user", text: "m-1" });
  expect(events.map(({ type }) => type)).not.toContain("notice");
  const again = begin(sidecar, "told", [{ role: "user", text: "other" }]);
  expect(await refusal(again)).toMatchObject({ code: "thread_exists" });
  expect(await say("told", "m-5")).toEqual([...KNOWN, "t-3", "t-4", "m-9", "t-9"]);
  expect(await shownIn(sidecar, "told")).toEqual(events.slice(1, 5));
});

test("what comes from it knows them once: a branch, one from the transcript, one whose record is lost", async () => {
  await begin(sidecar, "parent", HELD);
  await untilStatus(sidecar, "parent", "idle");
  for (const threadId of ["fork", "copy"])
    await sidecar.client.branchThread("parent", { threadId, lockParent: false });
  expect(await say("fork", "m-5")).toEqual([...KNOWN, "m-9", "t-9"]);
  forgetSession("parent");
  expect(await say("copy", "m-5")).toEqual([...KNOWN, "m-9", "t-9"]);
  await sidecar.client.controlAgent("parent", { control: "pause" });
  await until("its engine's end", async () =>
    (await transcriptOf(sidecar, "parent")).some(({ type }) => type === "engine_end"),
  );
  await sidecar.client.controlAgent("parent", { control: "resume" });
  expect(await say("parent", "m-6")).toEqual([...KNOWN, "m-9", "t-9"]);
  await sidecar.client.killThread("fork");
  await begin(sidecar, "fork", []);
  await untilStatus(sidecar, "fork", "idle");
  expect(heardBy(sidecar, "fork")).toEqual(["m-9", "t-9"]);
});

/** Runner and engine, whichever lives. */
function killBoth(folder: string): void {
  const engines = listProcesses().filter(({ environment }) =>
    environment.includes(`${ENGINE_FOLDER_MARKER}=${folder}`),
  );
  for (const pid of [...runnersOf(folder), ...engines.map(({ pid }) => pid)]) signal(pid, "SIGKILL");
}

const many = (count: number, text = "x"): Messages => Array(count).fill({ role: "user", text });

test.each<[string, object, string]>([
  ["too many", { initialMessages: many(MAX_INITIAL_MESSAGES + 1) }, "initialMessages: must be at most 200"],
  [
    "too much",
    { initialMessages: many(2, "é".repeat(MAX_INITIAL_BYTES / 4 + 1)) },
    "initialMessages: texts must",
  ],
  ["an empty one", { initialMessages: many(1, " ") }, "initialMessages.0.text: must not be empty"],
  ["a NUL", { initialMessages: many(1, "a\0") }, "initialMessages.0.text: must not hold a NUL"],
  ["another role", { initialMessages: [{ role: "system", text: "x" }] }, "initialMessages.0.role: "],
  [
    "more fields",
    { initialMessages: [{ role: "user", text: "x", source: "y" }] },
    "source: not a known field",
  ],
  ["no list", { initialMessages: "x" }, "initialMessages: "],
  ["a terminal", { type: "terminal", initialMessages: many(1) }, "initialMessages: a terminal takes none"],
  [
    "an origin too",
    { agent: { originThreadId: "known" }, initialMessages: many(1) },
    "initialMessages: must not be given together with agent.originThreadId",
  ],
])("refused, and nothing is made: %s", async (_what, request, sentence) => {
  if (!existsSync(folderOf(sidecar, "known"))) await begin(sidecar, "known", []);
  await untilStatus(sidecar, "known", "idle");
  const refused = await refusal(begin(sidecar, "never", HELD, request));
  expect(refused).toMatchObject({ code: "invalid_request", message: expect.stringContaining(sentence) });
  expect(await refusal(sidecar.client.getThread("never"))).toMatchObject({ code: "not_found" });
});

test("as many and as much as may be", async () => {
  const messages = many(
    MAX_INITIAL_MESSAGES,
    "x".repeat(Math.floor(MAX_INITIAL_BYTES / MAX_INITIAL_MESSAGES)),
  );
  await begin(sidecar, "most", messages);
  await untilStatus(sidecar, "most", "idle", 60_000);
  expect(await shownIn(sidecar, "most")).toHaveLength(MAX_INITIAL_MESSAGES);
});

test("they come in front of the first message as a text in which no @path is read", async () => {
  const { path, remove } = makeFolder();
  const program = join(path, "listened-to");
  const body = `[ "$1" = --version ] && exec ${STAND_IN} --version\ntee "$HOME/told" | ${STAND_IN} "$@"\n`;
  writeFileSync(program, `#!/bin/sh\n${body}`, { mode: 0o755 });
  const other = await startSidecar({ ...STAND_IN_CONFIG, agent: { ...standIn(), program } });
  try {
    await begin(other, "plain", [{ role: "user", text: "See @/etc/passwd" }]);
    await untilStatus(other, "plain", "idle");
    // Whoever copies it writes it for the engine first.
    const lines = await until("the message's copy", () => {
      const told = readFileSync(join(other.folders.home, "told"), "utf8").split("\n").slice(0, -1);
      const found = told.filter((line) => line.includes('"type":"user"')).map((line) => JSON.parse(line));
      return found.length > 0 && found;
    });
    expect(lines).toMatchObject([
      {
        client_composed: true,
        message: { content: [{ type: "text" }, { type: "text", text: expect.stringMatching(/^m-9/) }] },
      },
    ]);
  } finally {
    await other.close();
    remove();
  }
});

test("an engine that gets its message alone can't know them", async () => {
  const agent = { ...standIn(), program: "cat", engine: "command" } as const;
  const other = await startSidecar({ ...STAND_IN_CONFIG, agent });
  try {
    const refused = await refusal(begin(other, "no", HELD));
    expect(refused).toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(/^initialMessages: /),
    });
  } finally {
    await other.close();
  }
});

test("kill -9 of the sidecar before the first turn, then of runner and engine in it", async () => {
  const side = await spawnSidecar({ ...SIEGE_ENV, AGENT_PROGRAM: STAND_IN });
  try {
    const folder = folderOf(side, "hit");
    await begin(side, "hit", HELD, {
      command: script(
        "m-9",
        { text: "t-8", tools: [{ name: "Bash", input: { command: "sleep 2" } }] },
        { text: "t-9" },
      ),
      agent: { permissionMode: "acceptEdits" },
    });
    await side.kill9();
    killBoth(folder);
    await side.start();
    await until("its ask", async () => (await side.client.listAsks("hit")).length > 0);
    killBoth(folder);
    const ask = await until("its ask again", async () => (await side.client.listAsks("hit"))[0]);
    await side.client.answerAsk("hit", ask.requestId, { optionId: "once" });
    await until("its last word", () => heardBy(side, "hit").includes("t-9"), { timeoutMs: 60_000 });
    const heard = heardBy(side, "hit");
    expect(heard.slice(0, 4)).toEqual([...KNOWN, "m-9"]);
    for (const word of KNOWN) expect(heard.filter((one) => one === word)).toEqual([word]);
    expect((await shownIn(side, "hit")).map(({ text }) => text)).toEqual(KNOWN);
  } finally {
    await side.close();
  }
});
