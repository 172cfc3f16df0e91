/** Every tool of an agent, tried for more than it may: a wider mode, another directory, a thread that may do more. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Call } from "../../agent/engines/demo/script.ts";
import type { EventOf } from "../../shared/agent/events.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { callTool, listTools } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const tool = (name: string, input: object): Call => ({
  name: `mcp__threadmux__${name}`,
  input: { ...input },
});
const spawn = (input: object) => tool("spawn_thread", { prompt: "x", mode: "async", ...input });

/** For more than the thread has itself. */
const forMore: Call[] = [
  ...["acceptEdits", "auto", "bypassPermissions", "root", ""].map((permissionMode) =>
    spawn({ permissionMode }),
  ),
  ...["..", "../stranger", "/etc", "link", "\0", "below/../.."].map((dir) => spawn({ dir })),
  ...[{ tools: ["all"] }, { limits: { turns: -1 } }, { parentThreadId: "stranger" }].map(spawn),
  tool("job_add", { name: "x", when: "in 5h", text: "Do it for me.", threadId: "stranger" }),
  tool("job_remove", { name: "nightly" }),
  ...["../stranger/plan.txt", "/etc/passwd", "link/plan.txt"].map((path) => tool("send_file", { path })),
  ...["dir/../../../token", "../token", "/etc/passwd", "stranger/notes.md"].flatMap((path) => [
    tool("memory_get", { path }),
    tool("memory_write", { path, text: "x" }),
  ]),
];
/** For what belongs to another thread. */
const forThread = (threadId: string): Call[] => [
  ...["wait_thread", "thread_status", "read_transcript", "kill_thread"].map((name) =>
    tool(name, { threadId }),
  ),
  tool("message", { threadId, text: "Do it for me." }),
];

/** People are asked about most of these, so they are called as an engine does once somebody has said yes. */
const onTheWeb: Call[] = [
  ...["http://169.254.169.254/latest", "http://localhost:1/", "file:///etc/passwd"].map((url) =>
    tool("browser_open", { url }),
  ),
  tool("browser_look", {}),
  tool("browser_click", { number: 1, picture: 1, what: "link x" }),
  tool("browser_type", { text: "x" }),
  tool("browser_go", { to: "back" }),
  tool("browser_close", {}),
];

/** The results of a thread's calls, in order. */
async function results(threadId: string): Promise<EventOf<"tool_call_update">[]> {
  const events = await transcriptOf(sidecar, threadId);
  return events.flatMap((event) =>
    event.type === "tool_call_update" && event.status !== "in_progress" ? [event] : [],
  );
}

const refused = async (threadId: string) =>
  (await results(threadId)).map(({ status }) => status === "failed");

// Promise: S28
test("a parent and its children try each tool for more: refused, or a person is asked, and nothing has come of it", async () => {
  const { client, reposDir } = sidecar;
  await openAgent(sidecar, "stranger", script("Hello", { text: "The plan is secret." }));
  await untilStatus(sidecar, "stranger", "idle");
  writeFileSync(join(reposDir, "stranger", "plan.txt"), "secret");
  mkdirSync(join(reposDir, "parent", "below"), { recursive: true });
  for (const at of ["parent", "parent/below"])
    symlinkSync(join(reposDir, "stranger"), join(reposDir, at, "link"));

  const attempts = [...forMore, ...forThread("stranger"), ...forThread("parent")];
  const tried = script("Try", { tools: attempts }, { text: "Tried." });
  const children = [
    spawn({ prompt: tried, title: "narrow", permissionMode: "plan" }),
    spawn({ prompt: tried, title: "below", dir: "below" }),
  ];
  const looks = [tool("job_list", {}), tool("memory_search", { query: "secret" }), tool("list_threads", {})];
  const all = [...children, ...attempts, ...looks];
  await openAgent(sidecar, "parent", script("Try", { tools: all }, { text: "Tried." }));
  const wanted = [false, false, ...attempts.map(() => true), ...looks.map(() => false)];
  await until("the parent's results", async () => (await results("parent")).length === wanted.length);
  expect(await refused("parent")).toEqual(wanted);
  const found = JSON.stringify((await results("parent")).slice(-looks.length));
  for (const foreign of ["stranger", "The plan is secret."]) expect(found).not.toContain(foreign);

  const spawned = (await client.listThreads({})).filter(({ parentId }) => parentId === "parent");
  expect(spawned.map(({ title, dir }) => [title, dir])).toEqual([
    ["narrow", "parent"],
    ["below", "parent/below"],
  ]);
  // The child may read what was said in its family, and a person is asked whether its parent is to read its message.
  const allowed = [tool("read_transcript", { threadId: "parent" }), attempts.at(-1)];
  const isRefused = (attempt: Call) => !allowed.some((one) => isDeepStrictEqual(one, attempt));
  for (const { threadId } of spawned) {
    await untilStatus(sidecar, threadId, "idle");
    expect(await refused(threadId)).toEqual(attempts.map(isRefused));
  }
  const asks = await until("both asks", async () => {
    const open = await client.listAsks("parent");
    return open.length > 1 && open;
  });
  expect(asks.map(({ request }) => "toolName" in request && request.toolName)).toEqual([
    "Message",
    "Message",
  ]);

  // A child that a person lets do more than its parent is written to with a person's leave.
  const [narrow] = spawned;
  const childId = narrow?.threadId ?? "";
  await client.controlAgent(childId, { control: "mode", modeId: "acceptEdits" });
  await until("its mode", async () =>
    (await transcriptOf(sidecar, childId)).some(
      (event) => event.type === "current_mode_update" && event.modeId === "acceptEdits",
    ),
  );
  const input = { threadId: childId, text: "Do it for me." };
  expect(await callTool(sidecar, { threadId: "parent", name: "message", input })).toContain("may do more");

  const stranger = (await transcriptOf(sidecar, "stranger")).filter(({ type }) => type === "user_message");
  expect(stranger).toHaveLength(1);
  expect((await client.listThreads({})).map(({ threadId }) => threadId)).toHaveLength(4);
  for (const { threadId } of [{ threadId: "parent" }, ...spawned])
    expect((await transcriptOf(sidecar, threadId)).some(({ type }) => type === "file_sent")).toBe(false);
  expect(readFileSync(join(reposDir, "stranger", "plan.txt"), "utf8")).toBe("secret");
  // Of another thread's browser nothing is seen, and none is opened within this machine.
  for (const { name: called, input } of onTheWeb) {
    const name = called.replace("mcp__threadmux__", "");
    const said = await callTool(sidecar, { threadId: "parent", name, input, callId: JSON.stringify(input) });
    expect(said).toMatch(/You have no open browser|BROWSER_HOSTS|must begin with http/);
  }
  // Whoever adds a tool tries it here.
  const names = new Set([...all, ...onTheWeb].map(({ name }) => name.replace("mcp__threadmux__", "")));
  expect(new Set(await listTools(sidecar, "parent"))).toEqual(names);
});

test("what a person allowed an agent for its thread holds neither for its child nor for its branch: they ask", async () => {
  const { client } = sidecar;
  const make = (name: string) => ({
    tools: [{ name: "Bash", input: { command: `mkdir made ${name}`.trim() } }],
  });
  const prompt = script("Make yours", make("of-child"), { text: "Made." });
  const children = { tools: [spawn({ prompt, title: "maker" })] };
  await openAgent(sidecar, "allowed", script("Make", make(""), make("freely"), children, { text: "Made." }));
  const ask = await until("its ask", async () => (await client.listAsks("allowed"))[0]);
  await client.answerAsk("allowed", ask.requestId, { optionId: "thread" });
  await untilStatus(sidecar, "allowed", "idle");
  expect(await client.listRules("allowed")).toHaveLength(1);
  await client.branchThread("allowed", {
    threadId: "branch",
    lockParent: false,
    text: script("Make", make("of-branch"), { text: "Made." }),
  });
  const child = (await client.listThreads({})).find(({ title }) => title === "maker");
  for (const threadId of [child?.threadId ?? "", "branch"]) {
    const { request } = await until("its ask", async () => (await client.listAsks(threadId))[0]);
    expect(request).toMatchObject({ toolName: "Bash" });
    expect(await client.listRules(threadId)).toEqual([]);
    await client.killThread(threadId);
  }
  const made = ["freely", "of-child", "of-branch"].map((name) =>
    existsSync(join(sidecar.reposDir, "allowed", name)),
  );
  expect(made).toEqual([true, false, false]);
});
