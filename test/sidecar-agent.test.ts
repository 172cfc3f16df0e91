import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  endedTurnsOf,
  FAKE_AGENT,
  FAKE_AGENT_CONFIG,
  openAgent,
  turnsOf,
  untilIdle,
} from "./support/agents.ts";
import { startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { readAll, refusal, untilOutput } from "./support/threads.ts";
import { until } from "./support/wait.ts";

let sidecar: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar(FAKE_AGENT_CONFIG);
});
afterAll(() => sidecar.close());

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

test("the first message begins a conversation, the next ones resume it: arguments exactly so", async () => {
  const { client } = sidecar;
  await openAgent(sidecar, "argv", "Make it so");
  await untilIdle(client, "argv");
  await client.sendInput("argv", { text: "and more" });
  await untilIdle(client, "argv");
  await client.sendInput("argv", { text: "and again" });
  await untilIdle(client, "argv");
  const [first, second, third] = turnsOf(sidecar, "argv").map((turn) => turn.args);
  const session = first?.[2] ?? "";
  expect(session).toMatch(UUID);
  const mode = ["--permission-mode", "acceptEdits"];
  expect(first).toEqual(["-p", "--session-id", session, ...mode]);
  expect(second).toEqual(["-p", "--resume", session, ...mode]);
  expect(third).toEqual(["-p", "--resume", session, ...mode]);
  expect((await readAll(client, "argv")).output).toBe(
    [
      "message 1 of my conversation: Make it so",
      "message 2 of my conversation: and more",
      "message 3 of my conversation: and again",
      "",
    ].join("\r\n"),
  );
});

const PROMPTS: Record<string, string> = {
  "several lines": "first\nsecond\r\n\n  fourth\n",
  quotes: `"double" 'single' \`back\` \\ \\n`,
  "shell words": "$HOME $(touch pwned) `touch pwned`; touch pwned & | > x < y * ? [a] {a,b} ~ !!",
  "tmux words": "#{pane_id} #(touch pwned) %H #S ##",
  "a trailing semicolon": "do it;",
  "semicolons alone": ";",
  "an escaped semicolon": "\\;",
  "an option": "--resume",
  "another option": "-rf",
  "the end of options": "--",
  spaces: "  two  ",
  "control characters": "\x01\x02\x03\x1b[31m\x07\x7f\ttab",
  "the whole world": "日本語 ü 👩‍👩‍👧‍👦 \u202e rtl \ufeff",
  "100 KB": `${"0123456789 \n;$#".repeat(6_826)}end;`,
};

test.each(Object.entries(PROMPTS))(
  "a prompt of %s arrives as it is, first and later",
  async (name, prompt) => {
    const { client } = sidecar;
    const threadId = `prompt-${Object.keys(PROMPTS).indexOf(name)}`;
    await openAgent(sidecar, threadId, prompt);
    await untilIdle(client, threadId);
    await client.sendInput(threadId, { text: prompt });
    await untilIdle(client, threadId);
    expect(turnsOf(sidecar, threadId).map((turn) => turn.text)).toEqual([prompt, prompt]);
    expect(turnsOf(sidecar, `${threadId}/pwned`)).toEqual([]);
  },
);

test.each([
  ["", "invalid_request", "must not be empty"],
  [" \n ", "invalid_request", "must not be empty"],
  ["a\0b", "invalid_request", "must not hold a NUL"],
  ["x".repeat(100 * 1024 + 1), "too_large", "at most 102,400 bytes"],
])("a message that can't be one is refused (%#)", async (text, code, sentence) => {
  const { client } = sidecar;
  await openAgent(sidecar, "picky", "hello").catch(() => undefined); // there already
  expect(await refusal(client.sendInput("picky", { text }))).toEqual({
    code,
    message: expect.stringContaining(sentence),
  });
});

describe.concurrent("turns", () => {
  test("messages that come during one wait, go in one by one and in order, and none is lost", async () => {
    const { client, reposDir } = sidecar;
    await openAgent(sidecar, "queue", "wait for go");
    await untilOutput(client, "queue", "message 1");
    for (let i = 1; i <= 6; i++) await client.sendInput("queue", { text: `message number ${i}` });
    expect(await client.getThread("queue")).toMatchObject({ status: "running", waiting: 6 });
    expect(turnsOf(sidecar, "queue")).toHaveLength(1);
    writeFileSync(join(reposDir, "queue/go"), "");
    await untilIdle(client, "queue");
    const texts = turnsOf(sidecar, "queue").map((turn) => turn.text);
    expect(texts).toEqual(["wait for go", ...[1, 2, 3, 4, 5, 6].map((i) => `message number ${i}`)]);
    const ended = endedTurnsOf(sidecar, "queue");
    expect(ended.map((turn) => turn.text)).toEqual(texts);
    expect(new Set(ended.map((turn) => turn.pid)).size).toBe(7);
  });

  test("between them the agent is idle, with the last one's exit code, and its log stays", async () => {
    const { client } = sidecar;
    await openAgent(sidecar, "idle", "please exit 3");
    const thread = await untilIdle(client, "idle");
    expect(thread).toMatchObject({ exitCode: 3, signal: null, processRunning: false });
    expect(await client.readOutput("idle")).toMatchObject({ status: "idle", processRunning: false });
    expect((await client.listThreads()).map((each) => each.threadId)).toContain("idle");
    expect(await refusal(client.sendInput("idle", { key: "C-c" }))).toMatchObject({ code: "thread_ended" });
    await client.sendInput("idle", { text: "go on" });
    expect(await untilIdle(client, "idle")).toMatchObject({ exitCode: 0 });
    expect((await readAll(client, "idle")).output).toContain("message 2 of my conversation: go on");
  });

  test("two agents in one directory resume each its own conversation", async () => {
    const { client } = sidecar;
    mkdirSync(join(sidecar.reposDir, "shared"));
    const open = (threadId: string) =>
      client.createThread({
        threadId,
        type: "agent",
        dir: "shared",
        command: `I am ${threadId}`,
        createdBy: "1",
      });
    await open("one");
    await open("two");
    for (let i = 0; i < 2; i++) {
      await Promise.all(["one", "two"].map((id) => client.sendInput(id, { text: `more for ${id}` })));
    }
    await Promise.all(["one", "two"].map((id) => untilIdle(client, id)));
    for (const [id, other] of [
      ["one", "two"],
      ["two", "one"],
    ] as const) {
      const { output } = await readAll(client, id);
      expect(output).toContain(`message 3 of my conversation: more for ${id}`);
      expect(output).not.toContain(other);
    }
    const sessions = turnsOf(sidecar, "shared").map(
      (turn) => `${turn.args[2]} ${turn.text.split(" ").at(-1)}`,
    );
    expect(new Set(sessions).size).toBe(2);
  });

  test("one that dies by a signal ends alone; the next message goes on", async () => {
    const { client } = sidecar;
    await openAgent(sidecar, "dies", "die by SIGKILL");
    expect(await untilIdle(client, "dies")).toMatchObject({ exitCode: 137, signal: "SIGKILL" });
    await client.sendInput("dies", { text: "are you there?" });
    expect(await untilIdle(client, "dies")).toMatchObject({ exitCode: 0, signal: null });
    expect((await readAll(client, "dies")).output).toContain("message 2 of my conversation: are you there?");
  });

  test("C-c interrupts one; what waited goes in", async () => {
    const { client } = sidecar;
    await openAgent(sidecar, "interrupt", "wait for ever");
    await untilOutput(client, "interrupt", "message 1");
    await client.sendInput("interrupt", { text: "next" });
    await client.sendInput("interrupt", { key: "C-c" });
    await untilIdle(client, "interrupt");
    expect(turnsOf(sidecar, "interrupt").map((turn) => turn.text)).toEqual(["wait for ever", "next"]);
  });

  test("a kill ends the one that runs, and what waited never starts", async () => {
    const { client } = sidecar;
    await openAgent(sidecar, "killed", "wait for ever");
    await untilOutput(client, "killed", "message 1");
    await client.sendInput("killed", { text: "never" });
    expect(await client.killThread("killed")).toMatchObject({ exitCode: 143, survivors: 0 });
    expect(await refusal(client.sendInput("killed", { text: "late" }))).toMatchObject({
      code: "thread_ended",
    });
    expect(await client.getThread("killed")).toMatchObject({ status: "killed", signal: "SIGTERM" });
    expect(turnsOf(sidecar, "killed")).toHaveLength(1);
    await openAgent(sidecar, "killed-idle", "hello");
    await untilIdle(client, "killed-idle");
    expect(await client.killThread("killed-idle")).toMatchObject({
      exitCode: 0,
      summary: "message 1 of my conversation: hello",
    });
  });

  test("one sees no secret and no tmux of ours", async () => {
    const { client } = sidecar;
    await openAgent(sidecar, "secrets", "show VM_TOKEN");
    await untilIdle(client, "secrets");
    await client.sendInput("secrets", { text: "show TMUX" });
    await untilIdle(client, "secrets");
    const { output } = await readAll(client, "secrets");
    expect(output).toContain("\nVM_TOKEN=.\r\n");
    expect(output).toContain("\nTMUX=.\r\n");
  });
});

describe.concurrent("without its program", () => {
  test("an agent is refused in plain words, and nothing is created", async () => {
    const agent = { program: "no-such-agent", args: [] };
    const other = await startSidecar({ agent });
    try {
      expect(await refusal(openAgent(other, "none", "hello"))).toEqual({
        code: "unavailable",
        message:
          'The agent program "no-such-agent" is not installed on the VM. Install it, or set AGENT_PROGRAM to one that is.',
      });
      expect(await other.client.listThreads({ status: "all" })).toEqual([]);
    } finally {
      await other.close();
    }
  });

  test("one that vanishes later is said in the thread in plain words; back again, it goes on", async () => {
    const folders = sidecar.folders;
    const program = join(folders.path, "agent");
    copyFileSync(FAKE_AGENT, program);
    chmodSync(program, 0o755);
    const other = await startSidecar({ agent: { program, args: [] } });
    try {
      await openAgent(other, "vanishing", "hello");
      await untilIdle(other.client, "vanishing");
      rmSync(program);
      await other.client.sendInput("vanishing", { text: "are you there?" });
      expect(await untilIdle(other.client, "vanishing")).toMatchObject({ exitCode: 127 });
      expect((await readAll(other.client, "vanishing")).output).toContain(
        `threadmux: ${program} is not installed on this machine.\r\n`,
      );
      copyFileSync(FAKE_AGENT, program);
      chmodSync(program, 0o755);
      await other.client.sendInput("vanishing", { text: "and now?" });
      await untilIdle(other.client, "vanishing");
      const { output } = await readAll(other.client, "vanishing");
      expect(output).toContain("message 2 of my conversation: and now?");
      await until("both turns", () => turnsOf(other, "vanishing").length === 2);
    } finally {
      await other.close();
    }
  });

  test("one that may not be run, or whose interpreter is missing, is said in the thread too", async () => {
    const program = join(sidecar.folders.path, "script");
    writeFileSync(program, "#!/no/such/interpreter\n");
    chmodSync(program, 0o755);
    const other = await startSidecar({ agent: { program, args: [] } });
    try {
      await openAgent(other, "script", "hello");
      expect(await untilIdle(other.client, "script")).toMatchObject({ exitCode: expect.any(Number) });
      expect((await readAll(other.client, "script")).output).toMatch(
        /threadmux: .*script could not be started/,
      );
    } finally {
      await other.close();
    }
  });
});
