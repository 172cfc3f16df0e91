/** The engine `command`: any program, once a message. Real runners, real processes. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { AgentThread, type ThreadOptions } from "../support/agent-threads.ts";
import { openAgent, standIn, untilStatus, wordsOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { listProcesses, signal } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const folder = makeFolder();
const threads: AgentThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close();
});
afterAll(() => folder.remove());

let made = 0;
/** A program of this shell script. */
function program(script: string): string {
  const file = join(folder.path, `program-${made++}`);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

function open(script: string, args: string[] = [], options: ThreadOptions = {}): AgentThread {
  const run = { program: program(script), args, env: {} };
  const thread = new AgentThread({ agent: { engine: "command" }, program: run, ...options });
  threads.push(thread);
  return thread;
}

const said = (thread: AgentThread) => thread.of("agent_message").map(({ text }) => text);
const runsOf = (thread: AgentThread) =>
  existsSync(join(thread.dir, "runs"))
    ? readFileSync(join(thread.dir, "runs"), "utf8").split("\n").slice(0, -1)
    : [];
/** Notes each run, then works until its file is there. */
const SLOW = 'read text; echo "$text" >> runs; until [ -e go ]; do sleep 0.05; done; echo "did $text"';

describe("a message in, an answer out", () => {
  test("by standard input: the whole text, and its answer in the thread's directory", async () => {
    const thread = open('printf "in %s: " "$PWD"; cat');
    thread.write("two\nlines, 'quoted' $HOME ü");
    thread.start();
    expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
    expect(said(thread)).toEqual([`in ${thread.dir}: two\nlines, 'quoted' $HOME ü`]);
    expect(thread.of("tool_call")).toEqual([]);
    expect(thread.of("delivery_update").at(-1)).toMatchObject({ status: "completed" });
    expect(statusOf(thread.fold())).toBe("idle");
  });

  test("as {prompt} in its arguments: one argument, whatever it holds; standard input is empty", async () => {
    const thread = open('printf "<%s>" "$@"; wc -c', ["-m", "say: {prompt}", "--"]);
    thread.write("a b; $(touch made) $& '\"");
    thread.start();
    await thread.event("turn_end");
    expect(said(thread)).toEqual(["<-m><say: a b; $(touch made) $& '\"><-->0"]);
    thread.write("x".repeat(200_000));
    expect(await thread.event("turn_end", 2)).toMatchObject({
      stopReason: "error",
      error: expect.stringContaining("too long for an argument"),
    });
  });

  test("messages in mid-turn wait for its end, and each is a run of its own", async () => {
    const thread = open(SLOW);
    thread.write("one");
    thread.start();
    await until("the first run", () => runsOf(thread).length === 1);
    thread.write("two");
    thread.write("three");
    await thread.event("user_message", 3);
    expect(thread.of("delivery")).toHaveLength(1);
    writeFileSync(join(thread.dir, "go"), "");
    await thread.event("turn_end", 3);
    expect(said(thread)).toEqual(["did one", "did two", "did three"]);
    expect(runsOf(thread)).toEqual(["one", "two", "three"]);
  });

  test("what it prints is bounded and harmless", async () => {
    const thread = open(
      "printf '\\033[31mred\\033[0m \\033]0;title\\007 \\302\\233 \\342\\200\\256 10%%\\r100%% \\377\\n'; yes 0123456789 | head -c 3000000; echo the end",
    );
    thread.write("go");
    thread.start();
    await thread.event("turn_end");
    const [event] = thread.of("agent_message");
    const blob = event?.blobs?.["/text"];
    expect(blob?.bytes).toBeLessThan(140_000);
    expect(event?.text).toMatch(/^100% \ufffd\n0123456789\n/);
    expect(event?.text).toMatch(/the end$/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    expect(event?.text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  test("a failure is told with its exit code and its last words; the next message runs", async () => {
    const thread = open(
      'read text; echo "half of $text"; echo "no such model" >&2; exit "$(echo "$text" | cut -c6)"',
    );
    thread.write("exit 3");
    thread.start();
    const end = await thread.event("turn_end");
    expect(end).toMatchObject({
      stopReason: "error",
      error: expect.stringMatching(/exit code 3\.\nno such model$/),
    });
    expect(said(thread)).toEqual(["half of exit 3"]);
    expect(statusOf(thread.fold())).toBe("failed");
    thread.write("exit 0");
    expect(await thread.event("turn_end", 2)).toMatchObject({ stopReason: "end_turn" });
  });

  test("a program that is not there is named, and nothing is tried again and again", async () => {
    const thread = open("", [], { program: { program: "/nowhere/agent", args: [], env: {} } });
    thread.write("hi");
    thread.start();
    expect(await thread.ended()).toBe(0);
    expect(thread.of("failure")).toMatchObject([
      { code: "engine_missing", message: expect.stringContaining("/nowhere/agent") },
    ]);
  });

  test("it keeps no process when it is idle, and none of what the program left behind", async () => {
    const thread = open("sleep 1000 & echo done", [], { timeouts: { idleSeconds: 1 } });
    thread.write("go");
    thread.start();
    await thread.event("turn_end");
    expect(said(thread)).toEqual(["done"]);
    await until(
      "what it left to be ended",
      () => !thread.engineProcesses().some(({ command }) => command.includes("sleep")),
    );
    expect(await thread.ended()).toBe(0);
    expect(thread.engineProcesses()).toEqual([]);
    thread.write("again");
    thread.start();
    await thread.event("turn_end", 2);
    expect(said(thread)).toEqual(["done", "done"]);
  });
});

describe("people and kills", () => {
  test("Stop ends its whole process group, one that does not listen too; the next message runs", async () => {
    const thread = open(
      "read text; trap '' TERM; echo begun; [ $text = stay ] && { sleep 1000 & sleep 1000; }; true",
    );
    thread.write("stay");
    thread.start();
    await until("the program", () =>
      thread.engineProcesses().some(({ command }) => command.includes("sleep")),
    );
    thread.control("interrupt");
    expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
    expect(said(thread)).toEqual(["begun"]);
    expect(thread.engineProcesses().filter(({ command }) => command.includes("sleep"))).toEqual([]);
    thread.write("go");
    expect(await thread.event("turn_end", 2)).toMatchObject({ stopReason: "end_turn" });
  });

  test("the runner is killed: the program goes on, runs once, and its answer is there", async () => {
    const thread = open(SLOW);
    thread.write("one");
    thread.start();
    await until("the run", () => runsOf(thread).length === 1);
    thread.killRunner();
    await thread.runnerDied();
    writeFileSync(join(thread.dir, "go"), "");
    thread.start();
    await thread.event("turn_end");
    expect(said(thread)).toEqual(["did one"]);
    expect(runsOf(thread)).toEqual(["one"]);
    expect(thread.of("engine_start")).toHaveLength(1);
  });

  test.each([["the adapter"], ["both"]])(
    "killed in mid-run: %s: not run again, and it says so",
    async (what) => {
      const thread = open(SLOW);
      thread.write("one");
      thread.start();
      await until("the run", () => runsOf(thread).length === 1);
      if (what === "both") {
        thread.killRunner();
        await thread.runnerDied();
      }
      const pid = thread.enginePid();
      if (pid !== undefined) signal(pid, "SIGKILL");
      if (what === "both") thread.start();
      await until("the end to be told", () => statusOf(thread.fold()) === "failed");
      expect(thread.of("turn_end").at(-1)).toMatchObject({
        stopReason: "error",
        error: expect.stringContaining("was not run again"),
      });
      expect(runsOf(thread)).toEqual(["one"]);
      expect(thread.fold()).toMatchObject({ deliveries: [], turn: null });
      writeFileSync(join(thread.dir, "go"), "");
      thread.write("two");
      await until("the next", () => {
        if (!thread.runner) thread.start(); // the last one ends, as there was nothing to do
        return said(thread).includes("did two");
      });
      expect(runsOf(thread)).toEqual(["one", "two"]);
    },
  );

  test("killed at random moments: no message is run twice, and each is answered or told", async () => {
    const thread = open('read text; echo "$text" >> runs; sleep 0.1; echo "did $text"');
    const count = 12;
    for (let i = 0; i < count; i++) thread.write(`m${i}`);
    const isDone = () => {
      const { messages, deliveries, turn } = thread.fold();
      return thread.of("user_message").length === count && messages.length + deliveries.length === 0 && !turn;
    };
    for (let kill = 0; kill < 10; kill++) {
      if (!thread.runner) thread.start();
      const before = thread.events().length;
      const isFurther = () => thread.events().length > before + (kill % 4);
      await until("it to go on", () => isFurther() || !thread.runner || isDone());
      const pid = kill % 3 === 0 ? undefined : thread.enginePid();
      if (kill % 3 !== 1) thread.killRunner();
      if (pid !== undefined) signal(pid, "SIGKILL");
      await until("the runner to be dead, or at work", () => kill % 3 === 1 || !thread.runner);
      if (statusOf(thread.fold()) === "failed") thread.control("resume");
    }
    await until("all to be done", () => {
      if (!thread.runner) thread.start();
      if (statusOf(thread.fold()) === "failed") thread.control("resume");
      return isDone();
    });
    const runs = runsOf(thread);
    expect(new Set(runs).size).toBe(runs.length);
    const answered = said(thread).length;
    const told = thread.of("turn_end").filter(({ error }) => error?.includes("was not run again")).length;
    expect(answered + told).toBe(count);
    expect(new Set(said(thread)).size).toBe(answered);
  });
});

describe("behind the sidecar", () => {
  let sidecar: TestSidecar;
  beforeAll(async () => {
    const agent = { ...standIn(), program: program('printf "You said: "; cat'), engine: "command" as const };
    sidecar = await startSidecar({ maxThreads: 100, agent });
  });
  afterAll(() => sidecar?.close());

  test("AGENT_ENGINE=command makes every agent thread such a program; a kill leaves nothing", async () => {
    await openAgent(sidecar, "talk", "hello");
    await untilStatus(sidecar, "talk", "idle");
    await sidecar.client.sendInput("talk", { text: "again" });
    await until("both answers", async () => (await wordsOf(sidecar, "talk")).length === 2);
    expect(await wordsOf(sidecar, "talk")).toEqual(["You said: hello", "You said: again"]);
    expect(await sidecar.client.killThread("talk")).toMatchObject({ survivors: 0 });
    const folderOf = join(sidecar.stateDir, "threads", "talk");
    expect(
      listProcesses().filter(({ environment }) => environment.some((each) => each.includes(folderOf))),
    ).toEqual([]);
  });

  test.each([
    ["model", "m"],
    ["permissionMode", "plan"],
    ["systemPrompt", "be kind"],
    ["outputSchema", {}],
  ])("what it can't be told is refused: %s", async (field, value) => {
    const request = { threadId: "no", type: "agent" as const, dir: ".", command: "x" };
    const refused = await refusal(sidecar.client.createThread({ ...request, agent: { [field]: value } }));
    expect(refused).toMatchObject({
      code: "unsupported",
      message: expect.stringContaining(`agent.${field}: `),
    });
  });

  test("a mode, a model and a compaction are refused by name", async () => {
    await openAgent(sidecar, "controls", "hello");
    await untilStatus(sidecar, "controls", "idle");
    const refused = await refusal(sidecar.client.controlAgent("controls", { control: "compact" }));
    expect(refused).toMatchObject({ code: "unsupported" });
  });
});
