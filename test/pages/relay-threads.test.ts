/** What a person sees in a thread: input, output that can do no harm, ends, restarts. */
import { rmSync } from "node:fs";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { whileAway } from "../support/away.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;

beforeAll(async () => {
  all = await startEverything({ vm: { maxThreads: 50 }, isQuick: true });
});
afterAll(() => all?.close());

const says = (threadId: string, text: string | RegExp, timeoutMs = 10_000) =>
  all.discord.driver.until(
    () => all.discord.driver.messages(threadId).find(({ content }) => content.match(text)),
    { what: `a message that matches ${text}`, timeoutMs },
  );
const statusOf = async (threadId: string) => (await all.sidecar.client.getThread(threadId)).status;

// Promise: S1
test("only an allowed person's plain messages go in, and only into our threads", async () => {
  const { driver, channelId } = all.discord;
  const threadId = await all.openTerminal("cat");
  driver.post(all.stranger, threadId, "from a stranger");
  driver.post(all.you, channelId, "in the channel");
  const other = driver.createThread(all.you, "not ours");
  driver.post(all.you, other.id, "elsewhere");
  driver.patchThread(all.you, threadId, { name: "renamed: a system message" });
  const first = driver.post(all.you, threadId, "first");
  driver.post(all.you, threadId, "a reply", { replyTo: first.id });
  await all.untilShown(threadId, "a reply");
  expect(all.terminalText(threadId)).not.toMatch(/stranger|channel|elsewhere|renamed/);
  expect(all.terminalText(threadId)).toContain("first");
});

test("a thread that can't begin is refused before Discord shows anything of it", async () => {
  const { driver, channelId } = all.discord;
  const before = driver.threads().length;
  const made: string[] = [];
  const stop = driver.onEvent(({ type }) => void (type.startsWith("thread-") && made.push(type)));
  const refused: [name: string, options: Record<string, string>, words: string][] = [
    ["terminal", { command: "true", dir: "../outside" }, "dir"],
    ["terminal", { command: "true", dir: "nowhere" }, "dir"],
    ["agent", { prompt: "Hi", dir: "nowhere" }, "dir"],
    ["logs", { dir: ".", service: "nothing.log" }, "nothing.log"],
    ["browser", { url: "http://127.0.0.1/" }, "url"],
  ];
  for (const [name, options, words] of refused) {
    const { content } = await driver.command(all.you, channelId, name, options).reply();
    expect([name, content]).toEqual([name, expect.stringContaining("⚠️")]);
    expect([name, content]).toEqual([name, expect.stringContaining(words)]);
  }
  stop();
  expect(made).toEqual([]);
  expect(driver.threads()).toHaveLength(before);
});

test("a dry run answers as the creation would, and makes nothing", async () => {
  const { client } = all.sidecar;
  const request = { threadId: "dry", type: "terminal", dir: ".", command: "cat", dryRun: true } as const;
  expect(await client.createThread(request)).toMatchObject({ created: false });
  await expect(client.createThread({ ...request, dir: "nowhere" })).rejects.toThrow("dir");
  const known = { ...request, type: "agent", agent: { originThreadId: "nobody" } } as const;
  await expect(client.createThread(known)).rejects.toMatchObject({ code: "not_found" });
  await expect(client.getThread("dry")).rejects.toMatchObject({ code: "not_found" });
  expect(await client.createThread({ ...request, dryRun: false })).toMatchObject({ created: true });
  await expect(client.createThread(request)).rejects.toMatchObject({ code: "thread_exists" });
  await client.killThread("dry");
});

test("what is typed arrives as it is", async () => {
  const threadId = await all.openTerminal("cat -v");
  for (const line of ["Enter", "C-c", ";", "hi;", "-rf", "$(id) `id`", "#{pid} %H", "naïve ☃ 🏳️‍🌈"]) {
    all.discord.driver.post(all.you, threadId, line);
    const shown = line.replaceAll(/[^ -~]/gu, "");
    await all.untilShown(threadId, (text) => text.replaceAll(/[^ -~\n]/gu, "").includes(shown));
  }
});

// Promise: S34
test("backticks, mentions and control characters in the output do no harm", async () => {
  const threadId = await all.openTerminal(
    "printf '```\\n**bold** @everyone <@%s> \\007\\033]0;title\\007\\033[31mred\\033[0m\\n````js\\nend of it\\n' 1",
  );
  await all.untilShown(threadId, "end of it");
  const page = all.discord.driver.messages(threadId).find(({ content }) => content.includes("end of it"));
  expect(page?.isEveryonePinged).toBe(false);
  expect(page?.mentions).toEqual([]);
  // One code block: three backticks stand together at its two ends only.
  expect(page?.content.match(/```/g)).toHaveLength(2);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
  expect(page?.content).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
  expect(page?.content).toContain("red");
});

test("long output fills pages of at most 1,900 characters, in order and complete", async () => {
  const threadId = await all.openTerminal("seq -f 'line %g of the long output' 1 300");
  const expected = Array.from({ length: 300 }, (_, i) => `line ${i + 1} of the long output`).join("\n");
  await all.untilShown(threadId, (text) => text === expected, 30_000);
  for (const { content } of all.discord.driver.messages(threadId))
    expect(content.length).toBeLessThanOrEqual(1_900);
});

test("the end of a process is told once, in a new message, with code and duration", async () => {
  const threadId = await all.openTerminal("echo bye; exit 3");
  const end = await says(threadId, /⏹ The process ended with exit code 3 after \d\.\d s/);
  const messages = all.discord.driver.messages(threadId);
  expect(messages.at(-1)?.id).toBe(end.id);
  all.discord.driver.post(all.you, threadId, "anybody there?");
  await says(threadId, /its process has ended\. Use \/done to end this thread/);
  expect(all.discord.driver.text(threadId).match(/The process ended/g)).toHaveLength(1);
});

// Promise: R21
test("a Discord thread that is deleted by hand: its process is killed, the row ends", async () => {
  const threadId = await all.openTerminal("cat");
  all.discord.driver.deleteThread(all.you, threadId);
  await until("the session to be killed", async () => (await statusOf(threadId)) === "killed");
});

// Promise: R21
test("a Discord thread that is deleted while the sidecar is away: its process is killed once that is back", async () => {
  const threadId = await all.openTerminal("cat");
  await whileAway(all.sidecar, () => {
    all.discord.driver.deleteThread(all.you, threadId);
    return `/thread/${threadId}/kill`;
  });
  await until("the session to be killed", async () => (await statusOf(threadId)) === "killed");
});

test("a thread whose end can't be told to whoever ended it is archived all the same", async () => {
  const { driver } = all.discord;
  const threadId = await all.openTerminal("cat");
  const body = { code: 10015, message: "Unknown Webhook" };
  driver.faults.rest = ({ method, path }) =>
    method === "PATCH" && path.includes("/webhooks/") ? { kind: "status", status: 404, body } : undefined;
  driver.command(all.you, threadId, "done");
  await until("the thread to be archived", () => driver.findThread(threadId)?.isArchived === true).finally(
    () => {
      driver.faults.rest = undefined;
    },
  );
  expect(await statusOf(threadId)).toBe("killed");
});

test("an end that is read of before the kill has answered is told once", async () => {
  const other = await startEverything({ vm: STAND_IN_CONFIG, isWithoutRelay: true, isQuick: true });
  const line = await delayKills(other.sidecar.url, 1_500);
  try {
    other.relayConfig.vmUrl = line.url;
    await other.startRelay();
    const { driver, channelId } = other.discord;
    const asked = driver.command(other.you, channelId, "agent", {
      dir: ".",
      prompt: script("Hi", { text: "Done." }),
    });
    const agent = await until("the agent", () => /<#(\d+)>/.exec(asked.find()?.content ?? "")?.[1]);
    const terminal = await other.openTerminal("cat");
    await untilStatus(other.sidecar, agent, "idle");
    for (const threadId of [agent, terminal]) {
      driver.command(other.you, threadId, "done");
      await until("the thread to be archived", () => driver.findThread(threadId)?.isArchived === true);
      const ends = driver.messages(threadId).filter(({ content }) => content.startsWith("⏹"));
      expect(ends).toHaveLength(1);
      expect(ends[0]?.content).toMatch(threadId === agent ? /^⏹ Ended\.\n/ : /^⏹ Ended with exit code 143\./);
    }
  } finally {
    await other.close();
    await line.close();
  }
});

/** A way to the sidecar on which the answer to a kill takes longer than any other. */
async function delayKills(target: string, ms: number): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const forward = ask(`${target}${url}`, { method, headers }, (reply) => {
      const answer = () => reply.pipe(response.writeHead(reply.statusCode ?? 500, reply.headers));
      if (url.endsWith("/kill")) setTimeout(answer, ms);
      else answer();
    });
    forward.on("error", () => response.destroy());
    response.on("close", () => forward.destroy());
    request.pipe(forward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}`, close };
}

test("a live message that is deleted by hand is replaced", async () => {
  const threadId = await all.openTerminal("echo before; read x; echo after $x; cat");
  await all.untilShown(threadId, "before");
  const page = all.discord.driver.messages(threadId).find(({ content }) => content.startsWith("```"));
  all.discord.driver.deleteMessage(all.you, threadId, page?.id ?? "");
  all.discord.driver.post(all.you, threadId, "x");
  await all.untilShown(threadId, "after x");
});

test("a full-screen program is one message in its place: what comes after it stands below", async () => {
  const { driver } = all.discord;
  const threadId = await all.openTerminal(
    "echo before; read x; printf '\\033[?1049h\\033[Hthe screen'; read x; printf '\\033[2Jchanged'; read x; printf '\\033[?1049l'; echo after; cat",
  );
  await all.untilShown(threadId, "before");
  driver.post(all.you, threadId, "start");
  const picture = await says(threadId, /▣ full screen[\s\S]*the screen/);
  driver.post(all.you, threadId, "change");
  expect((await says(threadId, /▣ full screen[\s\S]*changed/)).id).toBe(picture.id);
  driver.post(all.you, threadId, "end");
  await all.untilShown(threadId, "after");
  const shown = driver
    .messages(threadId)
    .filter(({ author, content }) => author.isBot && /^(```|▣)/.test(content))
    .map(({ content }) => /before|start|▣|after/.exec(content)?.[0]);
  expect(shown).toEqual(["before", "start", "▣", "after"]);
});

test("relay killed and started again: the thread goes on, nothing twice", async () => {
  const { driver } = all.discord;
  const running = await all.openTerminal("for i in $(seq 1000); do echo line $i; sleep 0.2; done");
  const ended = await all.openTerminal("echo short; exit 4");
  const deleted = await all.openTerminal("cat");
  const archived = await all.openTerminal("echo in the archive; cat");
  await all.untilShown(running, "line 3");
  await says(ended, "exit code 4");
  await all.untilShown(archived, "in the archive");

  await all.stopRelay();
  driver.deleteThread(all.you, deleted);
  driver.archiveThread(all.you, archived);
  const orphan = (await all.sidecar.client.listThreads()).length;
  expect(orphan).toBeGreaterThanOrEqual(4);
  await until("output meanwhile", async () => {
    const { output } = await all.sidecar.client.readOutput(running);
    return output.includes("line 12\r\n");
  });
  await all.startRelay();

  const text = await all.untilShown(running, "line 15");
  const numbers = [...text.matchAll(/line (\d+)/g)].map(([, n]) => Number(n));
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  await until(
    "the deleted thread's session to be killed",
    async () => (await statusOf(deleted)) === "killed",
  );
  // Archived by a person's hand: it stays so until a person comes back to it.
  driver.post(all.you, archived, "still here");
  await all.untilShown(archived, "still here");
  expect(driver.text(ended).match(/The process ended/g)).toHaveLength(1);
});

test("Discord threads of ours that the sidecar no longer has are told and archived", async () => {
  const { driver } = all.discord;
  const threadId = await all.openTerminal("cat");
  const people = driver.createThread(all.you, "🖥 shop — looks like ours");
  await all.stopRelay();
  // A new state folder is what a lost disk leaves.
  await all.sidecar.client.killThread(threadId);
  const stateDir = join(all.sidecar.folders.path, "s2");
  await all.sidecar.restart({ stateDir });
  try {
    await all.startRelay();
    await says(threadId, "does not know this thread any more");
    await driver.until(() => driver.findThread(threadId)?.isArchived, { what: "archiving" });
    expect(driver.findThread(people.id)?.isArchived).toBe(false);
    expect(driver.messages(people.id)).toEqual([]);
  } finally {
    await all.stopRelay();
    await all.sidecar.restart({ stateDir: all.sidecar.folders.stateDir });
    rmSync(stateDir, { recursive: true, force: true });
    await all.startRelay();
  }
});

// Promise: R4
test("the tmux server dies: the thread is told, and archived", async () => {
  const threadId = await all.openTerminal("echo up; cat");
  await all.untilShown(threadId, "up");
  process.kill(all.sidecar.folders.tmuxPid(), "SIGKILL");
  await says(threadId, /⚠️ This thread is lost/);
  await all.discord.driver.until(() => all.discord.driver.findThread(threadId)?.isArchived, {
    what: "archiving",
  });
});
