import { existsSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../../test/support/wait.ts";
import { BackgroundCommands, type BackgroundTask } from "./background-commands.ts";
import { bash } from "./bash.ts";
import { processTool } from "./process-tool.ts";
import { makeWorld, type World } from "./testing/world.ts";
import { anyTool } from "./tool.ts";

let world: World;
let background: BackgroundCommands;
let told: BackgroundTask[][];
beforeEach(() => {
  world = makeWorld();
  told = [];
  background = new BackgroundCommands((tasks) => told.push(tasks));
});
afterEach(async () => {
  await background.close();
  world[Symbol.dispose]();
});

const run = (command: string, more: object = {}, context: object = {}) =>
  world.run(bash(background), { command, ...more }, context);
const ask = (action: string, more: object = {}) => world.run(processTool(background), { action, ...more });
const pidIn = async (name: string) =>
  Number(await until(name, () => readFileSync(join(world.dir, name), "utf8").trim()));
/** A killed process has no environment a moment before it is gone, and can do nothing then. */
const isAlive = (pid: number) => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

test("a command runs in the directory, and says how it ended", async () => {
  expect(await run("pwd; echo two >&2; echo three")).toEqual({ text: `${world.dir}\ntwo\nthree` });
  expect(await run("echo no; exit 3")).toEqual({ text: "no\n\n(Exit code 3.)", isError: true });
  expect(await run("kill -9 $$")).toEqual({
    text: "(It printed nothing. It was ended by SIGKILL.)",
    isError: true,
  });
  expect(await run("cat")).toEqual({ text: "(It printed nothing.)" });
  expect((await run("x=1; cd /")).text).toBe("(It printed nothing.)");
  expect((await run('echo "$x-$PWD"')).text).toBe(`-${world.dir}`);
  expect((await run("a\0b")).text).toContain("NUL");
  expect((await run(`: ${"x".repeat(200_000)}`)).text).toContain("too long");
});

test("100 MB of output come as their beginning and end, also without an end of line", async () => {
  const lines = await run("seq 1 14000000");
  expect(lines.text.length).toBeLessThan(33_000);
  expect(lines.text).toMatch(
    /^1\n2\n[\s\S]*\n\n… 1\d\d,\d{3},\d{3} bytes are left out …\n\n[\s\S]*13999999\n14000000$/,
  );
  const [, before, after] = /(\d+)\n\n….*…\n\n(\d+)/.exec(lines.text) ?? [];
  expect([Number(before) < 4_000, Number(after) > 13_990_000]).toEqual([true, true]);
  const one = await run("head -c 1000000 /dev/zero | tr '\\0' é");
  expect(one.text.length).toBeLessThan(33_000);
  expect(one.text).toContain("bytes are left out");
});

test("what a terminal would act on is not told", async () => {
  expect((await run("printf '\\033[31mred\\033[0m 10%%\\r100%%\\n\\007bell\\302'")).text).toBe(
    "100%\n�bell�",
  );
});

test("an interrupt ends the command with its children within 100 ms, also one that does not want to", async () => {
  const stubborn =
    "trap '' TERM; (trap '' TERM; echo $BASHPID > child; exec sleep 600) & setsid sh -c 'echo $$ > left; exec sleep 600' & wait; sleep 600";
  // A machine may be held up, but not each time.
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 20 && fastestMs >= 100; round++) {
    await run("rm -f child left");
    const stop = new AbortController();
    const result = run(stubborn, {}, { signal: stop.signal });
    const pids = [await pidIn("child"), await pidIn("left")];
    const startedMs = performance.now();
    stop.abort();
    expect(await result).toEqual({
      text: "(It printed nothing. It was ended: the user interrupted.)",
      isError: true,
    });
    fastestMs = Math.min(fastestMs, performance.now() - startedMs);
    await until("their end", () => !pids.some(isAlive));
  }
  expect(fastestMs).toBeLessThan(100);
  const ended = AbortSignal.abort();
  await expect(run("touch ran", {}, { signal: ended })).rejects.toThrow();
  expect(existsSync(join(world.dir, "ran"))).toBe(false);
});

test("at its time limit a command ends, and what it has printed is told", async () => {
  const result = await run("echo begun; sleep 600", { timeout_seconds: 1 });
  expect(result).toEqual({ text: "begun\n\n(It was ended after 1 seconds, its time limit.)", isError: true });
});

test("what a command leaves in its group is ended with it, and nobody waits for it", async () => {
  const startedMs = performance.now();
  const { text } = await run("sleep 600 & echo $! > child");
  expect(text).toMatch(/Processes that it had left running were ended/);
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  const pid = await pidIn("child");
  await until("the end", () => !isAlive(pid));
});

test("people see what it prints while it runs", async () => {
  const seen: string[] = [];
  const result = run(
    "echo one; until [ -e go ]; do sleep 0.05; done; echo two",
    {},
    { onOutput: (text: string) => seen.push(text) },
  );
  await until("its output", () => seen.includes("one"));
  await run("touch go");
  expect((await result).text).toBe("one\ntwo");
});

test("a directory that is swapped for a link runs nothing", async () => {
  renameSync(world.dir, `${world.dir}.old`);
  symlinkSync(world.outside, world.dir);
  const { text } = await run("touch ran");
  expect(text).toContain("can't be started");
  expect(existsSync(join(world.outside, "ran"))).toBe(false);
});

test("in the background a command is read from an offset on, typed into, and killed", async () => {
  const started = await run("echo ready; while read -r line; do echo got $line; done; echo over; sleep 600", {
    background: true,
  });
  expect(started.text).toBe(
    "ready\n\n(It runs in the background as b1. Its output from offset 6 on comes with process.)",
  );
  expect(told).toEqual([[{ taskId: "b1", title: expect.stringContaining("echo ready") }]]);
  expect((await ask("type", { id: "b1", text: "hello\n" })).text).toBe("Typed into b1.");
  expect((await ask("read", { id: "b1", offset: 6, wait_seconds: 20 })).text).toBe(
    "got hello\n\n(It runs. Next offset: 16.)",
  );
  await ask("type", { id: "b1", eof: true });
  expect((await ask("read", { id: "b1", offset: 16, wait_seconds: 20 })).text).toBe(
    "over\n\n(It runs. Next offset: 21.)",
  );
  expect((await ask("type", { id: "b1", text: "more" })).text).toBe(
    "Nothing was typed into b1: its input is closed.",
  );
  expect((await ask("list")).text).toMatch(/^b1: runs since \d+ s, 21 bytes of output: echo ready;/);
  expect((await ask("kill", { id: "b1" })).text).toBe("b1 was ended.");
  await until("news of it", () => told.at(-1)?.length === 0);
  expect((await ask("kill", { id: "b1" })).text).toBe("b1 has ended before.");
  expect((await ask("read", { id: "b1", offset: 16 })).text).toBe(
    "over\n\n(It has ended. It was ended by SIGTERM. Next offset: 21.)",
  );
  expect((await ask("list")).text).toMatch(/^b1: ended \(It was ended by SIGTERM\.\)/);
});

test("a command that fails at once does not go on, nor does one that is waited for long enough", async () => {
  expect(await run("no-such-program", { background: true })).toMatchObject({
    isError: true,
    text: expect.stringContaining("Exit code 127."),
  });
  expect(await run("sleep 0.5; echo done", { background: true, timeout_seconds: 30 })).toEqual({
    text: "done",
  });
  expect((await ask("list")).text).toBe("No command runs in the background.");
});

test("the background has bounds: how many, how much of them is kept", async () => {
  expect((await run("seq 1 1000000; sleep 600", { background: true, timeout_seconds: 1 })).text).toContain(
    "as b1",
  );
  expect((await ask("read", { id: "b1", offset: 0 })).text).toMatch(
    /^1\n2\n[\s\S]*It runs. There is more. Next offset: 16384.\)$/,
  );
  expect((await ask("read", { id: "b1", offset: 16_384 })).text).toMatch(
    /\([\d,]+ bytes before are not kept any more\. It runs\. There is more/,
  );
  expect((await ask("read", { id: "b1" })).text).toContain("\n1000000\n");
  expect((await ask("read", { id: "b1", offset: 99_999_999 })).isError).toBe(true);
  const more = await Promise.all(Array.from({ length: 9 }, () => run("sleep 600", { background: true })));
  expect(more.filter(({ isError }) => isError)).toHaveLength(2);
  expect(await run("touch ran; sleep 600", { background: true })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^8 commands run in the background \(b1, b/),
  });
  expect(existsSync(join(world.dir, "ran"))).toBe(false);
  await ask("kill", { id: "b3" });
  expect((await run("sleep 600", { background: true })).text).toContain("as b9");
  expect(background.tasks()).toHaveLength(8);
});

test("with the engine its commands end, also what has left their group", async () => {
  await run("setsid sh -c 'echo $$ > left; exec sleep 600' & echo $$ > own; wait", { background: true });
  const pids = [await pidIn("own"), await pidIn("left")];
  await background.close();
  await until("their end", () => !pids.some(isAlive));
});

test("a command that takes longer than an agent may wait goes on in the background, whatever limit it names", async () => {
  const call = anyTool(bash(background, 1)).call({ command: "echo begun; sleep 600", timeout_seconds: 500 });
  if ("problem" in call) throw new Error(call.problem);
  const { text, isError } = await call.run(world.context);
  // The output so far is not compared, because it depends on how quickly the command began.
  expect([text, isError]).toEqual([expect.stringMatching(/It runs in the background as b1\./), undefined]);
});

test("a person ends one", async () => {
  await run("sleep 600", { background: true });
  expect(await background.endTask("b1")).toMatchObject({ signal: "SIGTERM" });
  expect([await background.endTask("b1"), await background.endTask("b7")]).toEqual([undefined, undefined]);
});

test("what is asked, and what is called wrongly", async () => {
  const where = world.context;
  const asks = (tool: Parameters<typeof anyTool>[0], input: unknown) => {
    const call = anyTool(tool).call(input);
    return "problem" in call ? call.problem : [call.asksAs(where), call.subject];
  };
  expect(asks(bash(background) as never, { command: "npm test" })).toEqual(["bash", "npm test"]);
  expect(asks(bash(background) as never, { command: "cat .env" })).toEqual(["always", "cat .env"]);
  expect(asks(processTool(background) as never, { action: "type", id: "b1", text: "rm -rf x\n" })).toEqual([
    "always",
    "type b1 rm -rf x\n",
  ]);
  expect(asks(processTool(background) as never, { action: "kill", id: "b1" })).toEqual([
    "nothing",
    "kill b1",
  ]);
  expect((await ask("read")).text).toBe("process was called wrongly. id: read needs it.");
  expect((await ask("kill", { id: "b7" })).text).toBe("No command b7 is known. There is none.");
  expect((await ask("pause")).text).toMatch(/^process was called wrongly\. action: /);
});
