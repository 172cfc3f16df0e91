/** A thread's names: its id, its name, its number and its title lead to it, in every route and command. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Thread } from "../../shared/api.ts";
import { eventIdSchema } from "../../shared/hub-events.ts";
import { ROUTES } from "../../shared/protocol/routes.ts";
import { RoomClient } from "../../shared/room-client.ts";
import { STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { callTool } from "../support/mcp.ts";
import { openMember } from "../support/rooms.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";

let sidecar: TestSidecar;
let cli: Cli;
let agent: Thread;
let terminal: Thread;

beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
  cli = await buildCli(sidecar);
  const common = { dir: "shop", cols: 80, rows: 24 } as const;
  await sidecar.client.createThread({
    ...common,
    threadId: "worker",
    type: "agent",
    title: "Tidy the shop",
    command: script("Go", { text: "Done." }),
  });
  await sidecar.client.createThread({
    ...common,
    threadId: "shell",
    type: "terminal",
    title: "The shell",
    command: "cat",
  });
  agent = await untilStatus(sidecar, "worker", "idle");
  terminal = await sidecar.client.getThread("shell");
});
afterAll(() => sidecar?.close());

const namesOf = ({ name = "", number, title }: Thread) => [
  name,
  ...(number === null ? [] : [`#${number}`]),
  title.toUpperCase(),
];

/** Not those of examples: they would give the thread another title, and make threads. */
const BODIES: Record<string, (thread: Thread) => object> = {
  "/thread/:id/title": ({ title }) => ({ title }),
  "/thread/:id/branch": () => ({}),
};

async function send(
  route: (typeof ROUTES)[number],
  name: string,
  thread: Thread,
): Promise<{ status: number; text: string }> {
  const { method, path, example = {} } = route;
  const values: Record<string, string> = {
    requestId: "none",
    inputId: "none",
    name: "none.txt",
    key: "none",
    ...example.path,
    sha256: "0".repeat(64),
  };
  const address = path.replace(/:(\w+)/g, (_, key: string) =>
    encodeURIComponent(key === "id" ? name : (values[key] ?? "x")),
  );
  const query = new URLSearchParams(
    Object.entries(example.query ?? {}).map(([key, value]) => [key, String(value)]),
  );
  const isRaw = typeof route.body === "string";
  const response = await fetch(`${sidecar.url}${address}?${query}`, {
    method: method.toUpperCase(),
    headers: {
      authorization: `Bearer ${sidecar.token}`,
      "content-type": isRaw ? String(route.body) : "application/json",
    },
    ...(method === "get"
      ? {}
      : { body: isRaw ? "x" : JSON.stringify(BODIES[path]?.(thread) ?? example.body ?? {}) }),
  });
  return { status: response.status, text: await response.text() };
}

const withId = ROUTES.filter(({ path }) => path.includes(":id"));

test.each(
  withId
    .filter(({ path }) => !/\/kill$/.test(path))
    .map((route) => [`${route.method} ${route.path}`, route] as const),
)("%s takes a thread's name, number and title as it takes its id", async (_name, route) => {
  for (const thread of [agent, terminal]) {
    for (const name of namesOf(thread)) {
      const { text } = await send(route, name, thread);
      // Some are for agents alone, and say so of the thread that was found.
      const missing = /There is no (?:agent )?thread \\"([^"\\]*)/.exec(text)?.[1];
      expect(missing ?? thread.threadId, name).toBe(thread.threadId);
    }
  }
});

test("a thread is killed by its name, its number and its title", async () => {
  const kill = withId.find(({ path }) => path.endsWith("/kill"));
  for (const [at, pick] of [
    (one: Thread) => one.name ?? "",
    (one: Thread) => `#${one.number}`,
    (one: Thread) => one.title,
  ].entries()) {
    const threadId = `ends-${at}`;
    await sidecar.client.createThread({
      threadId,
      type: "agent",
      dir: "shop",
      title: `Ends ${at}`,
      command: script("Go", { text: "Done." }),
    });
    const thread = await untilStatus(sidecar, threadId, "idle");
    expect(kill && (await send(kill, pick(thread), thread)).status).toBe(200);
    expect((await sidecar.client.getThread(threadId)).status).toBe("killed");
  }
});

test("many threads are read by their names, and answered by those", async () => {
  const name = terminal.name ?? "";
  const reply = await sidecar.client.readThreads({
    since: { [name]: 0, "the shell": 0 },
    transcripts: { "#1": 0 },
  });
  expect(Object.keys(reply.transcripts)).toEqual(["#1"]);
  expect(Object.keys(reply.threads)).toHaveLength(1);
});

test("an agent's tools take its children's names", async () => {
  const tool = (name: string, input: object, callId = "c") =>
    callTool(sidecar, { threadId: "worker", name, input, callId });
  await tool("spawn_thread", { prompt: script("Part", { text: "P." }), title: "A part", mode: "async" });
  const child = (await sidecar.client.listThreads({ status: "all" })).find(({ title }) => title === "A part");
  for (const threadId of [child?.name, `#${child?.number}`, "a part"])
    expect(await tool("thread_status", { threadId })).toContain(child?.threadId);
  // Of others it learns nothing, by whatever name.
  for (const threadId of [terminal.name, "the shell", "shell"])
    expect(await tool("thread_status", { threadId })).toMatch(/You have no child/);
});

const AGENT_COMMANDS = [
  "status",
  "tail",
  "steps",
  "rules",
  "asks",
  "diff",
  "trust",
  "undo",
  "limit",
  "pause",
  "resume",
  "interrupt",
  "compact",
  "mode",
  "model",
  "worktree",
  "wait",
  "approve",
  "deny",
  "answer",
  "send",
  "branch",
  "log",
];
const TERMINAL_COMMANDS = ["screen", "resize", "view", "send", "log", "status", "tail"];
const MORE: Record<string, string[]> = {
  limit: ["--max-turns", "99"],
  mode: ["plan"],
  model: ["demo"],
  deny: [],
  answer: ["yes"],
  send: ["hi"],
  resize: ["100x30"],
  branch: ["--at", "1"],
};

/** `attach` needs a terminal to sit at; `kill` has a test of its own. */
const OTHER_COMMANDS = ["attach", "kill"];

test("each command that takes a thread is in the table", async () => {
  const { stdout } = await cli.call(["--help"]);
  const taking = [...stdout.matchAll(/^ {2}([a-z]+)(?:\|[a-z]+)? .*[<[]thread/gm)].map(([, name]) => name);
  expect(taking.length).toBeGreaterThan(20);
  const all = [...AGENT_COMMANDS, ...TERMINAL_COMMANDS, ...OTHER_COMMANDS];
  expect(taking.filter((name) => !all.includes(name ?? ""))).toEqual([]);
});

test("of many threads and in options: kill, events and jobs take name, number and title", async () => {
  for (const at of [0, 1, 2]) {
    const made = { threadId: `gone-${at}`, type: "agent", dir: "shop", title: `Gone ${at}` } as const;
    await sidecar.client.createThread({ ...made, command: script("Go", { text: "Done." }) });
    const name = namesOf(await untilStatus(sidecar, made.threadId, "idle"))[at] ?? "";
    expect(await cli.call(["kill", name]), name).toMatchObject({ code: 0 });
    expect((await sidecar.client.getThread(made.threadId)).status).toBe("killed");
  }
  for (const [at, name] of namesOf(agent).entries()) {
    const job = ["job", "add", `tidy-${at}`, "--every", "1h", "--input", "Tidy.", "--thread", name];
    expect(await cli.call(job), name).toMatchObject({ code: 0 });
    const query = { since: eventIdSchema.parse("0"), thread: [name] };
    for await (const told of sidecar.client.followEvents(query)) {
      expect(told, name).toMatchObject({ threadId: "worker" });
      break;
    }
  }
});

test("a room and its members are named by name, number and title, at the command line and over HTTP", async () => {
  const ids = ["first", "second", "third"];
  for (const id of ids) await openMember(sidecar, id, [], { title: `The ${id} one` });
  const members = await Promise.all(ids.map((id) => sidecar.client.getThread(id)));
  const [first, second, third] = members.map(namesOf) as [string[], string[], string[]];
  const rooms = new RoomClient(sidecar.client);
  await rooms.create({
    ...{ threadId: "talk", title: "The talk", protocol: "orchestrated", lead: third[1] },
    members: [{ threadId: first[0] ?? "" }, { threadId: second[1] ?? "" }, { threadId: third[2] ?? "" }],
  });
  const room = await sidecar.client.getThread("talk");
  for (const name of namesOf(room)) {
    for (const command of [["show"], ["say", "Hello."], ["protocol", "reactive"], ["stop"]]) {
      const [verb = "", ...more] = command;
      expect(await cli.call(["room", verb, name, ...more]), `${verb} ${name}`).toMatchObject({ code: 0 });
    }
    for (const member of second) {
      expect(await cli.call(["room", "remove", name, member]), member).toMatchObject({ code: 0 });
      expect(await cli.call(["room", "add", name, member]), member).toMatchObject({ code: 0 });
      const led = ["room", "protocol", name, "orchestrated", "--lead", member];
      expect(await cli.call(led), member).toMatchObject({ code: 0 });
    }
  }
  const { lead, members: now } = await rooms.get("talk");
  expect(now.map(({ threadId }) => threadId).sort()).toEqual(ids);
  expect(now.find(({ name }) => name === lead)?.threadId).toBe("second");
});

test.each([
  ...AGENT_COMMANDS.map((command) => ["an agent", command] as const),
  ...TERMINAL_COMMANDS.map((command) => ["a terminal", command] as const),
])("of %s: threadmux %s takes name, number and title as it takes its id", async (what, command) => {
  const thread = what === "an agent" ? agent : terminal;
  const more = MORE[command] ?? [];
  for (const name of [thread.threadId, ...namesOf(thread)]) {
    const { stderr } = await cli.call([command, name, ...more]);
    expect(stderr, name).not.toMatch(/no id, number or title fits|unknown command|no thread/);
  }
  const { stderr, code } = await cli.call([command, "nobody at all", ...more]);
  expect([code, stderr], command).toEqual([3, expect.stringMatching(/fits "nobody at all"/)]);
});

test("a name says what made it and when; it is no other's id, and a title of two is refused", async () => {
  expect(agent.name).toMatch(/^agent-\d{10}$/);
  expect(terminal.name).toMatch(/^terminal-\d{10}$/);
  const made = { type: "terminal", dir: "shop", command: "cat" } as const;
  const { name: threadId = "" } = terminal;
  expect(await refusal(sidecar.client.createThread({ ...made, threadId }))).toMatchObject({
    code: "thread_exists",
  });
  await sidecar.client.createThread({ ...made, threadId: "twin", title: "The shell" });
  const { message } = await refusal(sidecar.client.getThread("the shell"));
  expect(message).toMatch(
    /several threads have the title "the shell", such as (shell|twin) and (shell|twin); say an id/,
  );
  expect(await refusal(sidecar.client.getThread("../secret"))).toMatchObject({ code: "not_found" });
});
