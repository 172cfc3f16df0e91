/** The agent of a channel goes on in another directory: the same agent, with all that it knows and all that aims at it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { callAs } from "../support/call-as.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { makeFolder } from "../support/folders.ts";
import { aDiscordId } from "../support/ids.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const id = (n: number) => aDiscordId(String(300_000_000_000_000_000n + BigInt(n)));
const [OPS, DEV, QUIET, ALICE, BOB, CAROL] = [id(1), id(2), id(3), id(11), id(12), id(13)];

let sidecar: TestSidecar;
let cli: Cli;
let main: string;
let inputs = 100;
const outside = makeFolder();
const promptFile = join(outside.path, "prompt.md");
const voice = (by = sidecar.client) => new Vm(by).voice;
const handOver = (dir: string, by = sidecar.client) => voice(by).handOver(OPS, dir);
const tool = (name: string, input: Record<string, unknown>): Round => ({
  tools: [{ name: `mcp__threadmux__${name}`, input }],
});
const DONE = tool("done", {});
const write = async (text: string, ...rounds: Round[]) => {
  const input = { text: script(text, ...rounds), channelId: OPS, inputId: id(++inputs) };
  await sidecar.as(ALICE).sendInput(main, input);
  return input.inputId;
};
const rest = () => untilStatus(sidecar, main, "idle");
/** All that the engine was told in a directory, as its own records there have it. */
const toldIn = (dir: string) => {
  const projects = join(sidecar.folders.home, ".claude/projects");
  const name = join(sidecar.reposDir, dir).replace(/[^a-zA-Z0-9]/g, "-");
  const files = readdirSync(projects).includes(name) ? readdirSync(join(projects, name)) : [];
  return files.map((file) => readFileSync(join(projects, name, file), "utf8")).join("\n");
};
const events = () => transcriptOf(sidecar, main);

beforeAll(async () => {
  writeFileSync(promptFile, "Be brief.\n");
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, mainPromptFile: promptFile });
  cli = await buildCli(sidecar);
  for (const dir of ["a", "b", "c"]) mkdirSync(join(sidecar.reposDir, dir));
  writeFileSync(join(sidecar.reposDir, "file"), "");
  mkdirSync(join(sidecar.stateDir, "memory/main/main"), { recursive: true, mode: 0o700 });
  writeFileSync(join(sidecar.stateDir, "memory/main/main/MEMORY.md"), "Deploys go out on Tuesdays.\n");
  const role = "maker" as const;
  await sidecar.client.putPeople([{ id: ALICE, role, handle: "Alice" }]);
  await sidecar.client.putFixedChannels([
    { id: OPS, dir: "a", mode: "main" },
    { id: DEV, dir: "a", mode: "main" },
    { id: QUIET, dir: "a", mode: "off" },
  ]);
  const { channels, people } = new Vm(sidecar.client);
  for (const [channel, name] of [[OPS, "ops"] as const, [DEV, "dev"] as const])
    await channels.putPlace(channel, { name, problem: null });
  await people.setRole({ kind: "user", id: BOB, channelId: OPS, role: "member" });
  await people.setRole({ kind: "user", id: CAROL, channelId: OPS, role });
});
afterAll(async () => {
  await sidecar?.close();
  outside.remove();
});

test("before anybody has written there is nothing to hand over", async () => {
  const refused = { code: "not_found", message: expect.stringContaining("Nobody has written to the agent") };
  expect(await refusal(handOver("b"))).toMatchObject(refused);
  expect(await refusal(voice().handOver(QUIET, "b"))).toMatchObject({
    code: "unsupported",
    message: "mode: this channel is in mode off, so no agent hears it.",
  });
  ({ threadId: main } = await voice(sidecar.as(ALICE)).findMain(OPS));
});

test.each<[string, string, string, RegExp]>([
  ["elsewhere", "/etc", "invalid_directory", /outside of the repositories' folder/],
  ["above", "../s", "invalid_directory", /outside of the repositories' folder/],
  ["that is not there", "none", "invalid_directory", /^dir: "none" does not exist/],
  ["that is a file", "file", "invalid_directory", /^dir: "file" is not a directory/],
  ["in user space", "~", "invalid_directory", /^dir: "~" is user space/],
  ["in which it works", "./a", "unsupported", /^dir: the agent main works in "a" already/],
  ["with a NUL", "a\0b", "invalid_directory", /must not hold a NUL/],
])("a directory %s is refused, and nothing has changed", async (_, dir, code, message) => {
  const refused = await refusal(handOver(dir));
  expect(refused).toMatchObject({ code, message: expect.stringMatching(message) });
  expect((await sidecar.client.getThread(main)).dir).toBe("a");
});

test("STATE_DIR is refused under any name, and so is who may not change each of its channels", async () => {
  expect((await refusal(handOver(sidecar.stateDir))).code).toBe("invalid_directory");
  const by = async (who: string) =>
    callAs(sidecar, who, "POST", `/channel/${OPS}/main/hand-over`, { dir: "b" });
  expect(await by(BOB)).toMatchObject({
    status: 403,
    text: expect.stringContaining("settings of a channel"),
  });
  // She may do so in one of its channels, and has no role in the other.
  expect(await by(CAROL)).toMatchObject({ status: 403, text: expect.stringContaining("no role") });
  expect(await callAs(sidecar, ALICE, "POST", `/channel/${OPS}/main/hand-over`, {})).toMatchObject({
    status: 400,
    text: expect.stringContaining("dir"),
  });
  expect((await sidecar.client.getThread(main)).dir).toBe("a");
});

test("it goes on there with what it knows; its children, jobs and unanswered inputs reach it", async () => {
  await write("the word is tulip", DONE, { text: "ok" });
  await rest();
  const { number } = await sidecar.client.getThread(main);
  const end = join(sidecar.reposDir, "end");
  const child = script("Work", { waitFor: end, text: "The child is done." });
  await write("split it", tool("spawn_thread", { prompt: child, mode: "async" }), DONE, { text: "ok" });
  await rest();
  const when = { type: "words" as const, words: "in 5h" };
  const what = { type: "input" as const, main: "main", text: script("a job", DONE, { text: "ok" }) };
  await new Vm(sidecar.client).jobs.create({ name: "daily", when, what });
  const go = join(sidecar.reposDir, "go");
  const cutOff = await write("in the midst", { ...DONE, waitFor: go }, { text: "ok" });
  await until("its turn", async () => (await events()).at(-1)?.type === "step_start");
  const unread = await write("not read yet", DONE, { text: "ok" });
  writeFileSync(promptFile, "Be very brief.\n");

  expect(await cli.ok("main", "hand-over", "b", "--of", "#ops")).toBe(
    "main goes on in b; before, it worked in a\n",
  );
  writeFileSync(go, "");
  await until("all to be settled", async () => (await voice().getMain(DEV)).unanswered.length === 0);
  await rest();
  const detail = await sidecar.client.getThread(main);
  expect(detail).toMatchObject({ threadId: main, number, dir: "b", status: "idle" });
  expect(JSON.stringify(detail)).toContain("Be very brief.");
  expect(await voice().getMain(DEV)).toMatchObject({
    name: "main",
    threadId: main,
    dir: "b",
    unanswered: [],
  });
  const told = toldIn("b");
  for (const part of ["the word is tulip", "in the midst", "not read yet", "Deploys go out on Tuesdays"])
    expect(told).toContain(part);
  expect(told).toMatch(/You work in \S+\/b now; before, you worked in \S+\/a\./);
  expect(told).toMatch(/This is open:\]\\n- Your child \S+ is at work/);
  const all = await events();
  const taken = all.flatMap((event) =>
    event.type === "delivery_update" && event.status === "completed" ? [event.deliveryId] : [],
  );
  for (const inputId of [cutOff, unread]) {
    const held = all.flatMap((event) =>
      event.type === "delivery" && event.messageIds.includes(inputId) ? [event.deliveryId] : [],
    );
    expect(held).toHaveLength(1);
    expect(taken.filter((one) => one === held[0])).toHaveLength(1);
  }
  expect(all.filter((event) => event.type === "notice" && event.title === "It goes on in b")).toHaveLength(1);

  writeFileSync(end, "");
  await until("the child's end", () => toldIn("b").includes("The child is done."));
  const run = await new Vm(sidecar.client).jobs.run("daily");
  expect(run).toBeDefined();
  await until("the job's input", () => toldIn("b").includes("a job"));
  await rest();
});

test("one that a person holds is held there too, and can be handed back", async () => {
  await sidecar.client.controlAgent(main, { control: "pause" });
  await untilStatus(sidecar, main, "paused");
  expect(await handOver("c", sidecar.as(ALICE))).toEqual({
    name: "main",
    threadId: main,
    from: "b",
    dir: "c",
  });
  await untilStatus(sidecar, main, "paused");
  await sidecar.client.controlAgent(main, { control: "resume" });
  await write("are you there?", DONE, { text: "ok" });
  await until("its words", () => toldIn("c").includes("are you there?"));
  await rest();
  expect(toldIn("c")).toContain("the word is tulip");
  // Both ways, and at once.
  const both = await Promise.allSettled([handOver("a"), handOver("a")]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  await write("and here?", DONE, { text: "ok" });
  await until("its words", () => toldIn("a").includes("and here?"));
  await rest();
});

test("the conversation that was begun there is gone on with by the next process", async () => {
  await sidecar.restart();
  await sidecar.client.controlAgent(main, { control: "pause" });
  await untilStatus(sidecar, main, "paused");
  await sidecar.client.controlAgent(main, { control: "resume" });
  await write("after the rest", DONE, { text: "ok" });
  await until("its words", () => toldIn("a").includes("after the rest"));
  await rest();
  const starts = (await events()).flatMap((event) => (event.type === "engine_start" ? [event] : []));
  expect(starts.at(-1)).toMatchObject({ resumed: true, sessionId: starts.at(-2)?.sessionId });
});

test("once it was ended there is nothing to hand over", async () => {
  await sidecar.client.killThread(main);
  expect(await refusal(handOver("b"))).toMatchObject({ code: "thread_ended" });
});
