/** Agents that are made by a directive: what they are told and may do, and whose directives are found when. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { DEFAULT_COLS } from "../../shared/api.ts";
import { directives } from "../../shared/protocol/directives.ts";
import { STAND_IN, script, standIn, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { makeFolder } from "../support/folders.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { noting } from "../support/trust.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let cli: Cli;
let starts: () => string[];
const tools = makeFolder();

beforeAll(async () => {
  const program = noting(tools.path, STAND_IN);
  starts = program.starts;
  sidecar = await startSidecar({ maxAgents: 100, agent: { ...standIn(), program: program.file } });
  for (const dir of ["shop", "foreign"]) mkdirSync(join(sidecar.reposDir, dir));
  put("reviewer", REVIEWER);
  put("plain", "---\nname: plain\ndescription: d\n---\nPlain words.");
  put(
    "worker",
    "---\nname: worker\ndescription: d\ntools: Read\npermissionMode: acceptEdits\nthreadmux:\n  limits: { turns: 2 }\n  spawn: async\n---\nWork.",
  );
  cli = await buildCli(sidecar);
});
afterAll(async () => {
  await sidecar?.close();
  tools.remove();
});

const REVIEWER = `---
name: reviewer
description: Reviews changes
tools: Read, Grep
disallowedTools: WebFetch
permissionMode: plan
hooks: { Stop: [] }
threadmux:
  limits: { turns: 5, seconds: 600 }
  inputs:
    target: { type: enum, values: [staging, prod] }
    depth: { type: number, default: 2 }
    why: { type: text, default: "" }
---
Review {{target}}, {{depth}} deep.
`;

function put(name: string, text: string, folder = join(sidecar.folders.home, ".claude", "agents")): string {
  const file = join(folder, `${name}.md`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const refused = async (work: Promise<unknown>) => Object.values(await refusal(work)).join(": ");

type Agent = Parameters<TestSidecar["client"]["createThread"]>[0]["agent"];
const open = (
  threadId: string,
  agent: Agent,
  { dir = "shop", command = script("Go", { text: "Done." }) } = {},
) => sidecar.client.createThread({ threadId, type: "agent", dir, command, cols: DEFAULT_COLS, agent });
const asksOf = (id: string) =>
  untilValue(
    `an ask of ${id}`,
    () => sidecar.client.listAsks(id),
    (asks) => asks.length > 0,
  );
async function setChannel(body: object): Promise<void> {
  const response = await fetch(`${sidecar.url}/channel/123456789012345678`, {
    method: "PUT",
    headers: { authorization: `Bearer ${sidecar.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { code, error } = (await response.json()) as Record<string, string>;
  if (!response.ok) throw Object.assign(new Error(error), { code });
}
const folderOf = (id: string) => join(sidecar.stateDir, "threads", id);
const configOf = (id: string) => JSON.parse(readFileSync(threadPath(folderOf(id), "config"), "utf8")).agent;

test("its text, tools, mode and limits are the thread's; what was asked for narrows them", async () => {
  const inputs = { target: "prod", why: "It is {{target}}." };
  const agent: Agent = {
    directive: "reviewer",
    inputs,
    limits: { turns: 9, tokens: 1_000 },
    permissionMode: "default",
  };
  const reply = await open("reviewed", agent);
  expect(reply.notes).toEqual(["hooks: is not honoured: no hook of a directive is run."]);
  await untilStatus(sidecar, "reviewed", "idle");
  expect(configOf("reviewed")).toMatchObject({
    systemPrompt: "Review prod, 2 deep.",
    permissionMode: "plan",
    tools: ["Read", "Grep"],
    limits: { turns: 5, seconds: 600, tokens: 1_000 },
    directive: {
      name: "reviewer",
      space: "user",
      inputs: { target: "prod", depth: 2, why: "It is {{target}}." },
    },
  });
  const start = starts().find((line) => line.includes("--tools")) ?? "";
  expect(start).toContain(`--append-system-prompt-file ${join(folderOf("reviewed"), "system-prompt.txt")}`);
  expect(readFileSync(join(folderOf("reviewed"), "system-prompt.txt"), "utf8")).toBe("Review prod, 2 deep.");
  expect(start).toMatch(/--tools Read,Grep --strict-mcp-config/);
  expect(start).toMatch(/--disallowedTools \S*,WebFetch/);
  expect(start).toContain("--permission-mode plan");
  expect(start).not.toContain("--agent ");
  const events = await transcriptOf(sidecar, "reviewed");
  expect(events.find(({ type }) => type === "notice")).toMatchObject({
    title: "Not all of the directive is honoured",
  });
  const said = events.find((event) => event.type === "user_message");
  expect(JSON.stringify(said)).toContain("why:\\nIt is {{target}}.");
  expect(await sidecar.client.getThread("reviewed")).toMatchObject({ directive: "reviewer" });
});

test("events carry the directive", async () => {
  const response = await fetch(`${sidecar.url}/events?since=0&type=turn_end`, {
    headers: { authorization: `Bearer ${sidecar.token}` },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes('"turn_end"')) text += (await reader?.read())?.value ?? "";
  await reader?.cancel();
  expect(text).toContain('"directive":"reviewer","event":{');
});

test("a tool that it has not is refused to its model", async () => {
  const command = script(
    "Go",
    { tools: [{ name: "Bash", input: { command: "echo hi" } }] },
    { text: "Done." },
  );
  await open("toolless", { directive: "worker" }, { command });
  await untilStatus(sidecar, "toolless", "idle");
  expect(JSON.stringify(await transcriptOf(sidecar, "toolless"))).toContain(
    "Permission to use Bash has been denied",
  );
});

test.each<[string, Agent, RegExp]>([
  [
    "a directive that is not there",
    { directive: "nobody" },
    /agent\.directive: there is no directive "nobody".*reviewer/,
  ],
  ["a missing input", { directive: "reviewer" }, /inputs\.target: is missing; it is one of staging, prod/],
  [
    "an input of another type",
    { directive: "reviewer", inputs: { target: "prod", depth: "2" } },
    /inputs\.depth: must be a number/,
  ],
  [
    "an input that it does not take",
    { directive: "reviewer", inputs: { target: "prod", x: 1 } },
    /inputs\.x: is no input/,
  ],
  ["inputs of none", { inputs: { target: "prod" } }, /agent\.inputs: are a directive's/],
  [
    "an engine that takes no system text",
    { directive: "plain", engine: "command", program: "cat" },
    /agent\.systemPrompt: the engine command/,
  ],
  [
    "an engine that holds no tools",
    { tools: ["Read"], engine: "command", program: "cat" },
    /agent\.tools: the engine command can't/,
  ],
  ["a tool that is a flag", { tools: ["--x"] }, /agent\.tools\.0: must name a tool/],
])("%s is refused by its name, and nothing is left", async (_name, agent, expected) => {
  expect(await refused(open("refused", agent))).toMatch(expected);
  expect(await refused(sidecar.client.getThread("refused"))).toMatch(/not_found|no thread/);
});

test("no directive chooses that everything is allowed", async () => {
  put("all", "---\nname: all\ndescription: d\npermissionMode: bypassPermissions\n---\nx");
  expect(await refused(open("bypassed", { directive: "all" }))).toMatch(
    /bypassPermissions, which none may choose/,
  );
});

// Promise: S9
test("a repository's directive is found once a person has trusted what the question showed", async () => {
  const folder = join(sidecar.reposDir, "foreign", ".claude", "agents");
  const text =
    "---\nname: theirs\ndescription: d\npermissionMode: acceptEdits\n---\nTheir words.\nAnd more of them.";
  const file = put("theirs", text, folder);
  const list = async () =>
    (await sidecar.client.call(directives.list, {}, { query: { dir: "foreign" } })).directives.map(
      ({ as }) => as,
    );
  expect(await list()).not.toContain("theirs");
  expect(await refused(open("early", { directive: "theirs" }, { dir: "foreign" }))).toContain("no directive");

  await open("asker", {}, { dir: "foreign" });
  const [ask] = await asksOf("asker");
  const description = ask?.request.type === "permission_request" ? (ask.request.description ?? "") : "";
  for (const line of text.split("\n")) expect(description).toContain(line);
  await sidecar.client.answerAsk("asker", ask?.requestId ?? "", { optionId: "trust" });
  await untilStatus(sidecar, "asker", "idle");
  expect(await list()).toContain("theirs");
  await open("made", { directive: "project:theirs" }, { dir: "foreign" });
  await untilStatus(sidecar, "made", "idle");
  expect(readFileSync(join(folderOf("made"), "system-prompt.txt"), "utf8")).toBe(
    "Their words.\nAnd more of them.",
  );

  // Something else of the directory changes, and is not trusted: the directive gives no words and no mode any more.
  writeFileSync(join(sidecar.reposDir, "foreign", ".mcp.json"), "{}");
  await open("distrusted", { directive: "theirs" }, { dir: "foreign" });
  const [again] = await asksOf("distrusted");
  const before = starts().length;
  await sidecar.client.answerAsk("distrusted", again?.requestId ?? "", { optionId: "without" });
  await untilStatus(sidecar, "distrusted", "idle");
  const engines = starts()
    .slice(before)
    .filter((start) => start.includes("--setting-sources user"));
  expect(engines).toHaveLength(1);
  expect(engines[0]).not.toContain("system-prompt");
  expect(engines[0]).toContain("--permission-mode default");
  expect(await list()).not.toContain("theirs");

  put("theirs", `${text} Changed.`, folder);
  expect(await list()).not.toContain("theirs");
  expect(file).toContain("theirs.md");
});

// Promise: S9
test("before trust no door finds a repository's directive, and none of it widens a thread", async () => {
  const wild = join(sidecar.reposDir, "wild");
  const gate = 'gates: [{ at: after_complete, by: "command: touch ran" }]';
  const wider = (name: string) =>
    `---\nname: ${name}\ndescription: kumquat\npermissionMode: acceptEdits\nthreadmux:\n  limits: { turns: 999 }\n  ${gate}\n---\nkumquat\n`;
  for (const name of ["wide", "plain"]) put(name, wider(name), join(wild, ".claude", "agents"));
  await open("inside", {}, { dir: "wild" });
  const [ask] = await asksOf("inside");
  await sidecar.client.answerAsk("inside", ask?.requestId ?? "", { optionId: "without" });
  await untilStatus(sidecar, "inside", "idle");

  const reviewed: Agent = { gates: [{ at: "after_complete", by: { directive: "wide" } }] };
  const doors: [string, () => Promise<unknown>][] = [
    ["HTTP", () => open("w1", { directive: "wide" }, { dir: "wild" })],
    ["HTTP, by its space", () => open("w2", { directive: "project:wide" }, { dir: "wild" })],
    ["a gate", () => open("w3", reviewed, { dir: "wild" })],
    ["a channel", () => setChannel({ dir: "wild", mode: "mention", directive: "wide" })],
  ];
  for (const [door, work] of doors) {
    const words = await refused(work());
    expect(words, door).toMatch(/not_found: .*(there is no directive|has none called)/);
    expect(words, door).not.toContain("kumquat");
  }
  const input = { prompt: "x", mode: "async", directive: "wide" };
  const told = await callTool(sidecar, { threadId: "inside", name: "spawn_thread", input });
  expect(told).toMatch(/there is no directive "wide"/);
  const run = (...args: string[]) => cli.call(args);
  expect((await run("directives", "wild")).stdout).not.toContain("wide");
  expect((await run("new", "--agent", "wild", "--as", "wide", "--", "hi")).stderr).toContain("no directive");

  // One of the person's own that it has the name of stays what it is.
  await open("own", { directive: "plain" }, { dir: "wild" });
  expect(configOf("own")).toMatchObject({ systemPrompt: "Plain words.", directive: { space: "user" } });
  expect(configOf("own").limits).toEqual({});
  expect(configOf("own").permissionMode).toBeUndefined();
  expect(configOf("own").gates).toBeUndefined();
  expect(existsSync(join(wild, "ran"))).toBe(false);
});

test("a child is made by a directive, with no more rights than its parent", async () => {
  await open("parent", {
    tools: ["Read", "Bash"],
    permissionMode: "plan",
    limits: { turns: 40, seconds: 100 },
  });
  await untilStatus(sidecar, "parent", "idle");
  const spawn = (input: object, callId: string) =>
    callTool(sidecar, {
      threadId: "parent",
      name: "spawn_thread",
      input: { prompt: script("Part", { text: "P." }), ...input },
      callId,
    });
  expect(await spawn({ directive: "nobody" }, "c1")).toContain("there is no directive");
  expect(await spawn({ directive: "reviewer", inputs: { target: 1 } }, "c2")).toContain(
    "inputs.target: must be one of",
  );
  expect(await spawn({ inputs: {} }, "c3")).toContain("inputs: are a directive's");
  // The directive says that its parent does not wait.
  expect(await spawn({ directive: "worker" }, "c4")).toMatch(/^Started /);
  expect(await spawn({ directive: "worker" }, "c4")).toMatch(/^Started /);
  const children = (await sidecar.client.listThreads({ status: "all" })).filter(
    (one) => one.parentId === "parent",
  );
  expect(children).toHaveLength(1);
  const [child] = children;
  expect(child?.directive).toBe("worker");
  expect(configOf(child?.threadId ?? "")).toMatchObject({
    systemPrompt: "Work.",
    permissionMode: "plan",
    tools: ["Read"],
    limits: { turns: 2 },
  });
  await untilStatus(sidecar, child?.threadId ?? "", "idle");
});

test("on the command line: listed, checked, and used", async () => {
  const listed = await cli.call(["directives", "shop"]);
  expect(listed.stdout).toMatch(
    /^reviewer\t\S+reviewer\.md\tmode plan; tools Read Grep; not WebFetch; at most turns 5, seconds 600; inputs target: enum, depth: number, why: text\tReviews changes$/m,
  );
  const json = (await cli.json("directives", "shop")) as { directives: { as: string }[]; faults: unknown[] };
  expect(json.directives.map(({ as }) => as)).toContain("plain");
  const file = put("bad", "---\nname: bad\ndescription: d\nthreadmux:\n  voice: loud\n---\nx", tools.path);
  const checked = await cli.call(["directives", "check", file]);
  expect(checked).toMatchObject({ code: 1, stdout: "" });
  expect(checked.stderr).toMatch(/bad\.md:5: threadmux\.voice: must be message/);
  const good = await cli.call(["directives", "check", put("good", REVIEWER, tools.path)]);
  expect(good).toMatchObject({ code: 0 });
  expect(good.stderr).toContain("hooks: is not honoured");
  const made = await cli.call([
    ...["new", "--agent", "shop", "--as", "reviewer", "--id", "by-cli"],
    ...["--input", "target=prod", "--input", "depth=3", "--", script("Go", { text: "Done." })],
  ]);
  expect(made).toMatchObject({ code: 0, stdout: "by-cli\n" });
  expect(made.stderr).toContain("hooks: is not honoured");
  expect(configOf("by-cli").systemPrompt).toBe("Review prod, 3 deep.");
  const wrong = await cli.call([
    "new",
    "--agent",
    "shop",
    "--as",
    "reviewer",
    "--input",
    "target=x",
    "--",
    "Go",
  ]);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("inputs.target: must be one of staging, prod");
  expect((await cli.call(["new", "shop", "--as", "reviewer", "--", "ls"])).stderr).toContain(
    "--as: only with --agent",
  );
  await untilStatus(sidecar, "by-cli", "idle");
  expect(await wordsOf(sidecar, "by-cli")).toEqual(["Done."]);
});

test("a branch goes on with the directive of its parent", async () => {
  await untilValue(
    "the parent",
    () => sidecar.client.getThread("reviewed"),
    ({ status }) => status === "idle",
  );
  await sidecar.client.branchThread("reviewed", { threadId: "branched", lockParent: false });
  expect(await sidecar.client.getThread("branched")).toMatchObject({ directive: "reviewer" });
  expect(configOf("branched")).toMatchObject({
    systemPrompt: "Review prod, 2 deep.",
    tools: ["Read", "Grep"],
  });
});
