/** The real program in a directory that brings a hook and an MCP server: neither runs before a person says so. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type AgentThread, says } from "../support/agent-threads.ts";
import { bringHooks } from "../support/trust.ts";
import { until } from "../support/wait.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

const open = (args: string[] = []): AgentThread =>
  real.open({ program: real.program(args), timeouts: { idleSeconds: 1 } });

async function askIn(thread: AgentThread) {
  writeFileSync(join(thread.dir, "CLAUDE.md"), "The word of this repository is kumquat.");
  const brought = bringHooks(thread.dir);
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  const { requestId } = await thread.event("permission_request");
  expect(await thread.ended()).toBe(0);
  expect(brought.hasRun()).toEqual([]);
  return { ...brought, requestId };
}

async function turnOf(thread: AgentThread): Promise<void> {
  thread.start();
  await thread.event("turn_end");
  await thread.ended();
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Hello."]);
}

// Promise: S9
test("trusted: the hook and the server run", async () => {
  const thread = open();
  const { requestId, hasRun } = await askIn(thread);
  thread.answer(requestId, "trust");
  await turnOf(thread);
  await until("both to have run", () => hasRun().length === 2);
  expect(real.model.timesInContext("kumquat")).toBe(1);
});

test("without them: neither runs, and its CLAUDE.md is not read", async () => {
  const thread = open();
  const { requestId, hasRun } = await askIn(thread);
  thread.answer(requestId, "without");
  await turnOf(thread);
  expect(hasRun()).toEqual([]);
  expect(real.model.timesInContext("kumquat")).toBe(0);
});

test("without them, although the person's own arguments name the project's settings", async () => {
  const thread = open(["--setting-sources", "user,project,local"]);
  const { requestId, hasRun } = await askIn(thread);
  thread.answer(requestId, "without");
  await turnOf(thread);
  expect(hasRun()).toEqual([]);
});

test("all that the program reads of a skill's head, and settings in UTF-16, stand in the question", async () => {
  const heads = [
    "---  \ndescription: WORD\n---\u00a0\nx",
    "---\r\ndescription: WORD\r\n---\r\nx",
    "---\ndescription: WORD --- x",
    "---\ndescription: WORD\n  ---\nx",
    "---\ndescription: WORD\n---x",
    "---\n\n\ndescription: WORD---",
    "\ufeff---\ndescription: WORD\n---\nx",
    "---\ndescription: WORD\n...\n---\nx",
    "---\rdescription: WORD\r\n---\rx",
    "---\n\tdescription: WORD\n---\nx",
  ];
  const words = heads.map((_, at) => `kumquat${at}z`);
  const thread = open();
  for (const [at, head] of heads.entries()) {
    const file = join(thread.dir, ".claude", "skills", `s${at}`, "SKILL.md");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, head.replace("WORD", words[at] ?? ""));
  }
  const { hasRun } = bringHooks(thread.dir);
  const settings = join(thread.dir, ".claude", "settings.json");
  writeFileSync(settings, Buffer.from(`\ufeff${readFileSync(settings, "utf8")}`, "utf16le"));
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  const { requestId, description = "" } = await thread.event("permission_request");
  await thread.ended();
  expect(description).toContain("hook SessionStart: touch");
  thread.answer(requestId, "trust");
  await turnOf(thread);
  await until("both to have run", () => hasRun().length === 2);
  const context = JSON.stringify(real.model.requests);
  const read = words.filter((word) => context.includes(word));
  expect(read.length).toBeGreaterThan(6);
  expect(read.filter((word) => !description.includes(word))).toEqual([]);
});

test("a CLAUDE.md that is a link out of the directory is asked about, and left out without leave", async () => {
  const thread = open();
  const outside = join(thread.dir, "..", "outside.md");
  writeFileSync(outside, "The word of somebody else is kumquat.");
  mkdirSync(join(thread.dir, "sub"));
  writeFileSync(join(thread.dir, "sub", "file"), "read me");
  symlinkSync("../outside.md", join(thread.dir, "CLAUDE.md"));
  symlinkSync("../../outside.md", join(thread.dir, "sub", "CLAUDE.md"));
  const input = { file_path: join(thread.dir, "sub", "file") };
  thread.write(says("hi", { tools: [{ name: "Read", input }] }, { text: "Hello." }));
  thread.start();
  const { requestId, description = "" } = await thread.event("permission_request");
  expect(description).toContain("- CLAUDE.md: a link to what is outside");
  expect(description).toContain("- sub/CLAUDE.md: a link to what is outside");
  await thread.ended();
  expect(real.model.requests).toEqual([]);
  thread.answer(requestId, "without");
  await turnOf(thread);
  expect(real.model.timesInContext("read me")).toBe(1);
  expect(real.model.timesInContext("kumquat")).toBe(0);
});
