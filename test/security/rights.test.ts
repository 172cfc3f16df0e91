/**
 * Tries the rights of each role by every way in. The table is typed here, not taken from the product. A cell says
 * whether a person is refused; other errors, such as that there is no such ask, do not count.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { callAs } from "../support/call-as.ts";
import { callTool, listTools } from "../support/mcp.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

const ROLES = ["owner", "maker", "member", "viewer", "guest", "nobody"] as const;
type Role = (typeof ROLES)[number];

/** The rights of each role; it has no others. */
const TABLE: Record<Role, string> = {
  owner: "read type press decide run jobs settings roles thoughts",
  maker: "read type press decide run jobs settings",
  member: "read type press decide",
  viewer: "read",
  guest: "propose",
  nobody: "",
};
const may = (role: Role, right: string) => TABLE[role].split(" ").includes(right);
const cells = (right: string) => Object.fromEntries(ROLES.map((role) => [role, may(role, right)]));

const REFUSAL = /may not|not on the list/;
/** A refusal's end, which names who could. */
const WHO_COULD = / could: <@&?\d+>/;

let all: Everything;
let channelId: string;
/** A terminal's Discord thread. */
let thread: string;
/** A channel in which every message begins an agent. */
let open: string;
/** Each person by their role: two by their own id, one by a role at Discord, one in the channel alone. */
const people = {} as Record<Role, string>;

const api = (as: string | undefined, method: string, path: string, body?: unknown) =>
  callAs(all.sidecar, as, method, path, body);
const give = async (grant: object) => {
  const { status, text } = await api(undefined, "PUT", "/people/role", grant);
  expect([status, text]).toEqual([200, expect.anything()]);
};

beforeAll(async () => {
  all = await startEverything({
    vm: STAND_IN_CONFIG,
    isQuick: true,
    discord: { users: ["Max", "Mia", "Vera", "Gus", "Mallory"].map((name) => ({ name })) },
  });
  const { driver, users } = all.discord;
  ({ channelId } = all.discord);
  const idOf = (name: string) => users.find((user) => user.name === name)?.id ?? "";
  Object.assign(people, { owner: all.you, maker: idOf("Max"), member: idOf("Mia") });
  Object.assign(people, { viewer: idOf("Vera"), guest: idOf("Gus"), nobody: idOf("Mallory") });
  open = driver.createChannel("open").id;
  expect((await api(undefined, "PUT", `/channel/${open}`, { dir: ".", mode: "threads" })).status).toBe(200);
  const { id: members } = driver.roles.create("members");
  driver.roles.give(people.member, members);
  await give({ id: people.maker, role: "maker" });
  // The sidecar takes the role as soon as the relay has told it that there is one.
  await until("the new role", () =>
    give({ kind: "role", id: members, role: "member" }).then(
      () => true,
      () => false,
    ),
  );
  for (const here of [channelId, open]) await give({ id: people.viewer, role: "viewer", channelId: here });
  await give({ id: people.guest, role: "guest" });
  thread = await all.openTerminal("cat");
  // The guest's grant is the last: once the relay offers to let in a guest's message, it knows all grants.
  await until(
    "the roles to count",
    () => {
      const { id } = driver.post(people.guest, thread, "first");
      return until("an answer", () => isAnswered(id), { timeoutMs: 2_000 }).then(
        () => true,
        () => false,
      );
    },
    { intervalMs: 500 },
  );
});
afterAll(() => all?.close());

const isAnswered = (id: string) =>
  all.discord.driver.messages(thread).some(({ replyTo }) => replyTo?.id === id);

/** Tells for each role whether it is let. */
async function table(isLet: (role: Role, person: string) => Promise<boolean>) {
  const found: [Role, boolean][] = [];
  for (const role of [...ROLES].reverse()) found.push([role, await isLet(role, people[role])]);
  return Object.fromEntries(found.reverse());
}

/** Tells whether a command or a press was begun. A refused person is told at once, and nobody else sees it. */
async function isBegun(used: ReturnType<Everything["discord"]["driver"]["press"]>): Promise<boolean> {
  await all.discord.driver.until(() => used.state !== "waiting", { what: "an answer", timeoutMs: 25_000 });
  if (used.state === "failed") throw new Error("the bot did not answer in time, so nothing is known");
  if (used.answerType !== 4) return true;
  const { content, isEphemeral } = await used.reply();
  if (!REFUSAL.test(content)) return true;
  expect(isEphemeral).toBe(true);
  // Each refusal says who could.
  expect(content).toContain(`<@${people.owner}>`);
  return false;
}

const COMMANDS: [string, string, Record<string, string | number | boolean>][] = [
  ["read", "status", {}],
  ["read", "inbox", {}],
  ["read", "screenshot", {}],
  ["read", "export", {}],
  ["read", "here", {}],
  ["read", "thread list", {}],
  ["read", "thread history", {}],
  ["read", "job list", {}],
  ["read", "job history", { job: "none" }],
  ["read", "memory search", { query: "words" }],
  ["read", "memory show", { file: "MEMORY.md", path: "MEMORY.md" }],
  ["decide", "memory forget", { file: "MEMORY.md", path: "MEMORY.md", text: "words" }],
  ["read", "main status", {}],
  ["read", "main hear", {}],
  ["press", "main pause", {}],
  ["press", "main resume", {}],
  ["settings", "main hand-over", { dir: "." }],
  ["press", "queue", { text: "words" }],
  ["jobs", "job add", { name: "n", when: "never", dir: ".", prompt: "Hi" }],
  ["type", "key", { name: "Enter" }],
  ["press", "resize", { cols: 80, rows: 24 }],
  ["press", "done", {}],
  ["press", "kill", { thread: "#99" }],
  ["press", "thread pause", { thread: "#99" }],
  ["press", "thread resume", { thread: "#99" }],
  ["press", "thread compact", { thread: "#99" }],
  ["press", "thread worktree", { thread: "#99" }],
  ["press", "thread kill", { thread: "#99" }],
  ["press", "thread kill-all", { which: "agent" }],
  ["decide", "thread mode", { mode: "plan", thread: "#99" }],
  ["decide", "thread model", { model: "m", thread: "#99" }],
  ["decide", "thread limit", { turns: 3, thread: "#99" }],
  ["decide", "thread rules", { thread: "#99" }],
  ["run", "terminal", { command: "true" }],
  ["run", "agent", { prompt: "Hi" }],
  ["run", "logs", { service: "none.log" }],
  ["run", "browser", { url: "none.invalid" }],
  ["run", "room new", { members: "#98 #99", protocol: "reactive" }],
  ["run", "room add", { member: "#99" }],
  ["press", "room remove", { member: "#99" }],
  ["press", "room protocol", { protocol: "reactive" }],
  ["press", "room stop", {}],
  ["run", "thread branch", { thread: "#99" }],
  ["jobs", "job pause", { job: "none" }],
  ["jobs", "job resume", { job: "none" }],
  ["jobs", "job run", { job: "none" }],
  ["jobs", "job remove", { job: "none" }],
  ["thoughts", "thoughts", {}],
];

// Promise: S1
test.each(COMMANDS)("command, %s: /%s", async (right, name, options) => {
  const { driver } = all.discord;
  const offered = driver.commands(people.owner).find((command) => command.name === name.split(" ")[0]);
  const part = offered?.options.find((option) => option.name === name.split(" ")[1]);
  const known = new Set(((part ?? offered)?.options ?? []).map((option) => option.name));
  const used = Object.fromEntries(Object.entries(options).filter(([option]) => known.has(option)));
  expect(await table((_, person) => isBegun(driver.command(person, channelId, name, used)))).toEqual(
    cells(right),
  );
});

test("the table has each command, and each command of a message's menu", () => {
  const registered = all.discord.driver.commands(people.owner).flatMap(({ name, options }) => {
    const parts = options.filter(({ type }) => type === 1);
    return parts.length === 0 ? [name] : parts.map((part) => `${name} ${part.name}`);
  });
  expect([...new Set(COMMANDS.map(([, name]) => name))].sort()).toEqual(registered.sort());
  const menus = all.discord.driver.commands(people.owner, 3).map(({ name }) => name);
  expect(MENUS.map(([, name]) => name).sort()).toEqual(menus.sort());
});

const MENUS: [string, string][] = [
  ["run", "Branch from here"],
  ["read", "Details"],
];

test.each(MENUS)("menu of a message, %s: %s", async (right, name) => {
  const { driver } = all.discord;
  const { id } = driver.post(people.owner, thread, "look at this");
  await all.untilShown(thread, "look at this");
  expect(await table((_, person) => isBegun(driver.messageCommand(person, thread, id, name)))).toEqual(
    cells(right),
  );
});

test("command, settings and roles: the sidecar has the last word on /here", async () => {
  const { driver } = all.discord;
  const set = (options: Record<string, string>) => async (_: Role, person: string) => {
    const used = driver.command(person, open, "here", options);
    if (!(await isBegun(used))) return false;
    return !REFUSAL.test((await used.reply()).content);
  };
  expect(await table(set({ dir: "." }))).toEqual(cells("settings"));
  expect(await table(set({ who: people.nobody, role: "viewer" }))).toEqual(cells("roles"));
  await give({ id: people.nobody, role: null, channelId: open });
});

// Promise: S1
test("completion: the values of /here are told to whoever may set them, and to nobody else", async () => {
  const { driver } = all.discord;
  const told = async (_: Role, person: string) =>
    (await driver.autocomplete(person, channelId, "here", {}, "engine")).length > 0;
  expect(await table(told)).toEqual(cells("settings"));
  // Memory is in no channel: who may look at this channel alone is told no file of it, and that is no error.
  expect(await driver.autocomplete(people.viewer, channelId, "memory show", {}, "file")).toEqual([]);
});

const M = "123456789012345678";
const BUTTONS: [string, string][] = [
  ...["stop:t1", "go-on", "undo:t1", "done", "keep-all", "kill-all:all:1", "worktree-keep"].map(
    (id): [string, string] => ["press", id],
  ),
  ["press", "worktree-merge:none:merge"],
  ["press", "worktree-remove:none:0123456789abcdef"],
  ...[`resume-send:${M}`, "logs-view:pause", "logs-grep", "key:C-c", "room-stop"].map(
    (id): [string, string] => ["press", id],
  ),
  ...[
    "ask:r1:once",
    "because:r1:once",
    "answer:r1:0",
    "pick:r1:0.0",
    "picked:r1:0",
    "form:r1",
    "decline:r1",
    "memory-undo:w1",
    "outside:trust:1",
  ].map((id): [string, string] => ["decide", id]),
  ...["show:r1", "diff:1", "changes:t1", "history", "steps:x:b1", "steps-file:x"].map(
    (id): [string, string] => ["read", id],
  ),
  ...[`send:${M}`, `type-anyway:${M}`, `ended-here:${M}`, `let-in:${M}:0`].map((id): [string, string] => [
    "type",
    id,
  ]),
  ...["browser-do:back", "browser-click:1", "browser-type:1", "browser-open"].map((id): [string, string] => [
    "type",
    id,
  ]),
  ["run", `ended-new:${M}`],
  ["jobs", "job:create:none"],
  ["settings", `here-dir:${M}:none`],
  ["settings", `here-mode:${M}:off`],
];

test("the table has each button", () => {
  const files = readdirSync(new URL("../../relay/actions/", import.meta.url)).filter((file) =>
    /^(?!actions\.).*(?<!\.test)\.ts$/.test(file),
  );
  const source = files.map((file) =>
    readFileSync(new URL(`../../relay/actions/${file}`, import.meta.url), "utf8"),
  );
  const names = source.flatMap((text) => /= action\(\{\s*name: "([\w-]+)"/.exec(text)?.[1] ?? []);
  expect(names).toHaveLength(files.length);
  expect([...new Set(BUTTONS.map(([, id]) => id.split(":", 1)[0]))].sort()).toEqual(names.sort());
});

test.each(BUTTONS)("button, %s: %s", async (right, customId) => {
  const { driver, apiUrl, botToken } = all.discord;
  const post = async () => {
    const button = { type: 2, style: 2, label: "x", custom_id: customId };
    const response = await fetch(`${apiUrl}/v10/channels/${channelId}/messages`, {
      method: "POST",
      headers: { authorization: `Bot ${botToken}`, "content-type": "application/json" },
      body: JSON.stringify({ content: "x", components: [{ type: 1, components: [button] }] }),
    });
    return ((await response.json()) as { id: string }).id;
  };
  expect(await table(async (_, person) => isBegun(driver.press(person, await post(), customId)))).toEqual(
    cells(right),
  );
});

test("message, into a thread: who may write is heard, a guest waits, a viewer is told once, nobody is nothing", async () => {
  const { driver } = all.discord;
  const heard = async (role: Role, person: string) => {
    const words = `words of ${role}`;
    const { id } = driver.post(person, thread, words);
    // A later message of the owner is shown once the relay has handled this one.
    const after = `after ${role}`;
    driver.post(people.owner, thread, after);
    await all.untilShown(thread, after);
    const offered = driver.messages(thread).filter(({ replyTo }) => replyTo?.id === id);
    const isOffered = offered.some(({ buttons }) => buttons.some(({ label }) => label.includes("Let it in")));
    expect([role, isOffered]).toEqual([role, may(role, "propose")]);
    if (role === "nobody") expect(offered).toEqual([]);
    if (role === "viewer" || role === "guest") expect(offered[0]?.content).toMatch(WHO_COULD);
    return all.terminalText(thread).includes(words);
  };
  expect(await table(heard)).toEqual(cells("type"));
});

test("message, of a guest: whoever may write lets it in, once, in their own name", async () => {
  const { driver } = all.discord;
  const { id } = driver.post(people.guest, thread, "please add this");
  const offer = await driver.until(() => driver.messages(thread).find(({ replyTo }) => replyTo?.id === id), {
    what: "the offer",
    timeoutMs: 25_000,
  });
  const press = (person: string) => driver.press(person, offer.id, offer.buttons[0]?.customId ?? "");
  for (const role of ["nobody", "guest", "viewer"] as const)
    expect(await isBegun(press(people[role]))).toBe(false);
  expect(all.terminalText(thread)).not.toContain("please add this");
  const [one, two] = [press(people.member), press(people.maker)];
  await all.untilShown(thread, "please add this");
  await Promise.all([isBegun(one), isBegun(two)]);
  await until(
    "who let it in",
    () =>
      driver.text(thread).includes(`<@${people.member}> let it in`) ||
      driver.text(thread).includes(`<@${people.maker}> let it in`),
  );
  driver.post(people.owner, thread, "the end of it");
  await all.untilShown(thread, "the end of it");
  // `cat` says each line once more.
  expect(all.terminalText(thread).split("please add this")).toHaveLength(3);
});

test("message, in a channel where it begins an agent: who may run one is answered", async () => {
  const { driver } = all.discord;
  const begun = async (role: Role, person: string) => {
    const message = driver.post(person, open, script(`Say ${role}`, { text: `Hello ${role}.` }));
    const own = () => driver.messages(open).filter(({ replyTo }) => replyTo?.id === message.id);
    if (role === "nobody") return false; // looked at below
    await until("an answer", () => driver.findThread(message.id) !== undefined || own().length > 0);
    if (role === "member" || role === "viewer") expect(own()[0]?.content).toMatch(REFUSAL);
    if (role === "guest") expect(own()[0]?.content).toContain("who may begin threads here lets it in");
    if (driver.findThread(message.id) === undefined) expect(own()[0]?.content).toMatch(WHO_COULD);
    return driver.findThread(message.id) !== undefined;
  };
  expect(await table(begun)).toEqual(cells("run"));
  const silent = driver
    .messages(open)
    .filter(({ author }) => [people.nobody, people.viewer].includes(author.id));
  for (const { id } of silent) expect(driver.findThread(id)).toBeUndefined();
});

test("API caller", async () => {
  const threadId = thread;
  const asks: [string, string, string, object?][] = [
    ["read", "GET", `/thread/${threadId}`],
    ["read", "GET", `/thread/${threadId}/screen`],
    ["read", "GET", `/thread/${threadId}/output`],
    ["read", "GET", `/thread/${threadId}/asks`],
    ["read", "GET", "/threads"],
    ["read", "GET", "/last-words"],
    ["read", "GET", "/inbox"],
    ["read", "GET", "/channels"],
    ["read", "GET", "/jobs"],
    ["type", "POST", `/thread/${threadId}/input`, { key: "Enter" }],
    ["press", "POST", `/thread/${threadId}/resize`, { cols: 80, rows: 24 }],
    ["press", "POST", `/thread/${threadId}/interrupt`, {}],
    ["press", "PUT", `/thread/${threadId}/title`, { title: "cat" }],
    ["decide", "POST", `/thread/${threadId}/asks/r1`, { optionId: "once" }],
    ["decide", "POST", `/thread/${threadId}/mode`, { modeId: "plan" }],
    ["decide", "POST", `/thread/${threadId}/rules`, { withdraw: ["Bash"] }],
    ["run", "POST", "/thread/create", { threadId, type: "terminal", dir: ".", command: "true" }],
    ["jobs", "POST", "/jobs/preview", { when: { type: "words", words: "in 20m" } }],
    ["settings", "PUT", `/channel/${open}`, { worktree: false }],
    ["roles", "PUT", "/people/role", { id: M, role: "guest" }],
  ];
  for (const [right, method, path, body] of asks) {
    const isLet = async (_: Role, person: string) => {
      const { status, text } = await api(person, method, path, body);
      if (status === 403) expect(text).toContain(`<@${people.owner}>`);
      return status !== 403;
    };
    // The viewer has the role in channels alone: they may look at lists, but at nothing that is in no channel.
    expect([method, path, await table(isLet)]).toEqual([method, path, cells(right)]);
  }
  // Lists hold what the person may look at.
  const listed = async (person: string) =>
    Promise.all(
      ["/threads", "/last-words"].map(async (path) =>
        (await api(person, "GET", path)).text.includes(`"${thread}"`),
      ),
    );
  expect(await listed(people.viewer)).toEqual([true, true]);
  await give({ id: people.viewer, role: null, channelId });
  expect(await listed(people.viewer)).toEqual([false, false]);
  await give({ id: people.viewer, role: "viewer", channelId });
});

test("who may read one channel alone starts no job by events of another, or of all", async () => {
  const person = people.viewer;
  await give({ id: person, role: "maker", channelId: open });
  await give({ id: person, role: null, channelId });
  const { driver } = all.discord;
  const prompt = script("Hi", { text: "Hello." });
  const used = await driver.command(people.owner, open, "agent", { prompt }).reply();
  const mine = /<#(\d+)>/.exec(used.content)?.[1] ?? "";
  const add = (when: object) =>
    api(person, "POST", "/jobs", {
      name: "spy",
      when: { type: "event", events: ["thread_status"], ...when },
      what: { type: "input", threadId: mine, text: "Look." },
    });
  const inOther = await add({ threadId: thread });
  expect([inOther.status, inOther.text]).toEqual([403, expect.stringMatching(REFUSAL)]);
  const ofAll = await add({});
  expect([ofAll.status, ofAll.text]).toEqual([403, expect.stringMatching(REFUSAL)]);
  await give({ id: person, role: "maker", channelId: null });
  expect((await add({})).status).toBe(201);
  // A role can be taken back after the job was made: the job then begins nothing.
  expect(await api(person, "GET", "/jobs/spy")).toMatchObject({ status: 200 });
  await give({ id: person, role: null, channelId: null });
  const run = await api(undefined, "POST", "/jobs/spy/run", {});
  expect([run.status, run.text]).toEqual([400, expect.stringContaining("may no longer")]);
  await api(undefined, "DELETE", "/jobs/spy");
  await api(undefined, "POST", `/thread/${mine}/kill`, {});
  for (const here of [channelId, open]) await give({ id: person, role: "viewer", channelId: here });
});

test("MCP: an agent may what the person may who began it", async () => {
  const person = people.maker;
  const { driver } = all.discord;
  const used = driver.command(person, channelId, "agent", { prompt: script("Hi", { text: "Hello." }) });
  const agent = /<#(\d+)>/.exec((await used.reply()).content)?.[1] ?? "";
  await until("its tools", async () =>
    (await api(undefined, "GET", `/thread/${agent}`)).text.includes('"idle"'),
  );
  writeFileSync(join(all.sidecar.reposDir, "note.txt"), "x");
  const tools: [string, string, object][] = [
    ["read", "list_threads", {}],
    ["read", "send_file", { path: "note.txt" }],
    ["type", "message", { to: "#99", text: "x" }],
    ["press", "kill_thread", { threadId: "none" }],
    ["run", "spawn_thread", { prompt: "x", dir: "nowhere" }],
    ["read", "wait_thread", { threadId: "none" }],
    ["read", "thread_status", { threadId: "none" }],
    ["read", "read_transcript", { threadId: "none" }],
    ["read", "memory_search", { query: "x" }],
    ["read", "memory_get", { path: "none.md" }],
    ["type", "memory_write", { path: "../no", text: "x" }],
    ["jobs", "job_add", { name: "No" }],
    ["read", "job_list", {}],
    ["jobs", "job_remove", { name: "none" }],
    ["run", "browser_open", { url: "" }],
    ["read", "browser_look", { from: -1 }],
    ["type", "browser_click", {}],
    ["type", "browser_type", {}],
    ["type", "browser_go", {}],
    ["press", "browser_close", {}],
  ];
  const offered = await listTools(all.sidecar, agent);
  expect(offered.sort()).toEqual(tools.map(([, name]) => name).sort());
  for (const role of ROLES) {
    await give({ id: person, role: role === "nobody" ? null : role });
    for (const [right, name, input] of tools) {
      const said = await callTool(all.sidecar, { threadId: agent, name, input, callId: `${role}-${name}` });
      expect([role, name, !/Refused to the person who began/.test(said)]).toEqual([
        role,
        name,
        may(role, right),
      ]);
    }
    if (role === "nobody") await give({ id: person, role: "maker" });
  }
  await api(undefined, "POST", `/thread/${agent}/kill`, {});
});

test("who has a role by another's word is called by their name, and a stranger by none", async () => {
  const { driver } = all.discord;
  await driver.command(people.nobody, channelId, "status").reply();
  const called = async () => (await api(undefined, "GET", "/people")).text;
  await until("the maker's name", async () => (await called()).includes('"handle":"Max"'));
  expect(await called()).not.toContain("Mallory");
});
