/**
 * What each tool of ours is asked about, in each mode and with granted rules, by each engine that decides it here. The
 * table is typed in this file, not taken from the product. What Claude Code's own program asks about follows from the
 * rules that it is started with, so those are held to the table.
 */
import { existsSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { letsOwnTool } from "../../agent/engines/acp/permissions.ts";
import { judge as judgeDemo } from "../../agent/engines/demo/permissions.ts";
import { findMcpTools } from "../../agent/engines/own/mcp.ts";
import { judge as judgeOwn } from "../../agent/engines/own/permissions.ts";
import type { AnyTool, AsksAs } from "../../agent/engines/own/tools/tool.ts";
import { type OurTool, unaskedTools } from "../../shared/agent/tools-of-ours.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { callTools, listTools } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

/** As what a person is asked about it. Whoever adds a tool writes here whether it runs, writes or sends something. */
const TOOLS = {
  message: "nothing",
  done: "nothing",
  read_inputs: "nothing",
  report: "nothing",
  send_file: "nothing",
  memory_search: "nothing",
  memory_get: "nothing",
  memory_write: "nothing",
  spawn_thread: "nothing",
  wait_thread: "nothing",
  thread_status: "nothing",
  list_threads: "nothing",
  read_transcript: "nothing",
  kill_thread: "nothing",
  job_add: "nothing",
  job_list: "nothing",
  job_remove: "nothing",
  browser_open: "asked",
  browser_look: "nothing",
  browser_click: "asked",
  browser_type: "asked",
  browser_go: "asked",
  browser_close: "nothing",
} as const satisfies Record<OurTool, "nothing" | "asked">;
type Name = keyof typeof TOOLS;
const NAMES = Object.keys(TOOLS) as Name[];
const full = (name: string) => `mcp__threadmux__${name}`;
/** Tools of nobody's, or of another server: a name that begins alike gives no right. */
const FOREIGN = ["terminal_open", "message_all", "done2"];

/** What becomes of a call: of a tool of ours that is asked about, of one that is not, and of a command. */
type Row = { asked: string; nothing: string; Bash: string };
const OWN: Record<string, Row> = {
  plan: { asked: "ask", nothing: "run", Bash: "ask" },
  default: { asked: "ask", nothing: "run", Bash: "ask" },
  acceptEdits: { asked: "ask", nothing: "run", Bash: "ask" },
  bypassPermissions: { asked: "run", nothing: "run", Bash: "run" },
};
const DEMO: Record<string, Row> = {
  plan: { asked: "ask", nothing: "run", Bash: "refuse" },
  dontAsk: { asked: "refuse", nothing: "run", Bash: "refuse" },
  default: { asked: "ask", nothing: "run", Bash: "ask" },
  acceptEdits: { asked: "ask", nothing: "run", Bash: "ask" },
  auto: { asked: "run", nothing: "run", Bash: "run" },
  bypassPermissions: { asked: "run", nothing: "run", Bash: "run" },
};
/** Rules that people granted for other things give none of our tools a right. */
const GRANTED = ["Bash(npm test:*)", "bash(npm test:*)", "write", "WebFetch", "mcp__other", "mcp__thread"];
const COMMAND = "npm run deploy";

let server: Server;
let own: ReadonlyMap<string, AnyTool>;
beforeAll(async () => {
  const tools = [...NAMES, ...FOREIGN].map((name) => ({ name, description: "", inputSchema: {} }));
  server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { path, remove } = makeFolder();
  const file = join(path, "mcp.json");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(file, JSON.stringify({ mcpServers: { threadmux: { url } } }));
  const found = await findMcpTools({ file, allowed: unaskedTools("threadmux") });
  remove();
  expect(found.problems).toEqual([]);
  own = new Map(found.tools.map((tool) => [tool.name, tool]));
});
afterAll(() => server?.close());

const WHERE = { dir: "/tmp", roots: [] } as never;
const ownSays = (name: string, mode: string, rules: readonly string[]) => {
  const tool = own.get(full(name));
  const call = tool?.call({});
  if (!call || "problem" in call) throw new Error(`there is no ${name}`);
  const asksAs = (call as { asksAs: (where: never) => AsksAs }).asksAs(WHERE);
  return judgeOwn({ name: full(name), asksAs, subject: COMMAND }, mode, new Set(rules)).is;
};
const demoSays = (name: string, mode: string, rules: readonly string[], input: object = {}) =>
  judgeDemo({ name, input: { ...input } }, {
    ...{ mode, cwd: "/tmp", rules: [...unaskedTools("threadmux"), ...rules] },
    ...{ asked: [], denied: [], disallowed: [] },
  } as never).kind;

// Promise: S28
test.each([[[]], [GRANTED]])(
  "each tool in each mode, with the granted rules %j: as the table has it",
  (rules) => {
    const found: Record<string, unknown> = {};
    const wanted: Record<string, unknown> = {};
    for (const [mode, row] of Object.entries(OWN)) {
      for (const name of [...NAMES, ...FOREIGN]) {
        found[`own ${mode} ${name}`] = ownSays(name, mode, rules);
        wanted[`own ${mode} ${name}`] = row[TOOLS[name as Name] ?? "asked"];
      }
      const bash = { name: "bash", asksAs: "bash" as const, subject: COMMAND };
      found[`own ${mode} Bash`] = judgeOwn(bash, mode, new Set(rules)).is;
      wanted[`own ${mode} Bash`] = row.Bash;
    }
    for (const [mode, row] of Object.entries(DEMO)) {
      for (const name of [...NAMES, ...FOREIGN]) {
        found[`demo ${mode} ${name}`] = demoSays(full(name), mode, rules);
        wanted[`demo ${mode} ${name}`] = row[TOOLS[name as Name] ?? "asked"];
      }
      found[`demo ${mode} Bash`] = demoSays("Bash", mode, rules, { command: COMMAND });
      wanted[`demo ${mode} Bash`] = row.Bash;
    }
    expect(found).toEqual(wanted);
  },
);

// Promise: S28
test("a rule that names a tool which is asked about lets that one run, and no other", () => {
  const rules = [full("browser_click")];
  const asked = NAMES.filter((name) => TOOLS[name] === "asked");
  for (const mode of ["plan", "default", "acceptEdits"]) {
    const runs = asked.filter((name) => ownSays(name, mode, rules) === "run");
    expect([mode, runs]).toEqual([mode, mode === "plan" ? [] : ["browser_click"]]);
    const ofDemo = asked.filter((name) => demoSays(full(name), mode, rules) === "run");
    expect([mode, ofDemo]).toEqual([mode, ["browser_click"]]);
  }
});

// Promise: S28
test("the rules that an engine is started with name each tool that runs unasked, and nothing else", () => {
  const unasked = NAMES.filter((name) => TOOLS[name] === "nothing").map(full);
  expect(unaskedTools("threadmux").sort()).toEqual(unasked.sort());
});

// Promise: S28
test("an agent of the Agent Client Protocol is answered for those alone, by their name or by a known title", () => {
  const options = [{ optionId: "o", name: "Allow", kind: "allow_once" as const }];
  const lets = (toolCall: object, known?: object) =>
    letsOwnTool(
      { toolCall: { toolCallId: "c", locations: [], ...toolCall }, options } as never,
      unaskedTools("threadmux"),
      known as never,
    );
  const known = { program: "opencode", ownTool: /^(threadmux)_(\w+)$/, reads: [], files: [] };
  const found = [...NAMES, ...FOREIGN].map((name) => [
    name,
    lets({ _meta: { claudeCode: { toolName: full(name) } }, title: full(name) }) !== undefined,
    lets({ title: `threadmux_${name}`, kind: "other" }, known) !== undefined,
  ]);
  const wanted = [...NAMES, ...FOREIGN].map((name) => {
    const isUnasked = TOOLS[name as Name] === "nothing";
    return [name, isUnasked, isUnasked];
  });
  expect(found).toEqual(wanted);
});

let sidecar: TestSidecar | undefined;
afterAll(() => sidecar?.close());

// Promise: S28
test("no tool that runs unasked runs a command that Bash would be asked about, whatever stands in its input", async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  const side = sidecar;
  const made = join(side.reposDir, "made");
  const command = `touch ${made}`;
  const bash = { name: "Bash", input: { command, description: "d" } };
  await openAgent(side, "tried", script("Hi", { text: "Hello." }));
  await untilStatus(side, "tried", "idle");
  const agent = script("Make it", { tools: [bash] }, { text: "Made." });
  const texts = [command, `; ${command}`, `$(${command})`, `\`${command}\``, agent];
  const fields = ["text", "prompt", "path", "query", "name", "to", "threadId", "title", "dir", "when", "why"];
  const unasked = (await listTools(side, "tried")).filter((name) => TOOLS[name as Name] === "nothing");
  expect(unasked).toContain("spawn_thread");
  const spawned = { prompt: agent, mode: "async" };
  const more = { check: command, command, terminal: command, what: { type: "command", dir: ".", command } };
  const job = { name: "n", when: "in 5h", text: command };
  const inputs = [
    ...texts.map((text) => Object.fromEntries(fields.map((field) => [field, text]))),
    ...[spawned, { ...spawned, ...more }, job, { ...job, ...more }, more],
  ];
  let calls = 0;
  for (const name of unasked) {
    const tries = inputs.map((input) => ({ name, input, callId: `call-${++calls}` }));
    const said = await callTools(side, "tried", tries);
    expect(said).toHaveLength(tries.length);
  }
  // A child that it spawned asks for itself.
  const children = (await side.client.listThreads({})).filter(({ parentId }) => parentId === "tried");
  const asking = await until("a child that asks", async () => {
    for (const { threadId } of children)
      if ((await side.client.listAsks(threadId)).length > 0) return threadId;
    return undefined;
  });
  expect(
    (await transcriptOf(side, asking)).filter(({ type }) => type === "permission_request"),
  ).toMatchObject([{ toolName: "Bash" }]);
  expect(existsSync(made)).toBe(false);
  for (const { threadId } of children) await side.client.killThread(threadId);
});
