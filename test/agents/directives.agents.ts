/** The same file, as a directive here and as an agent of the bare program, asks the model for the same. */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDirective } from "../../shared/directives/parse.ts";
import { mergeDirective } from "../../vm/directives/merge.ts";
import { says } from "../support/agent-threads.ts";
import type { ModelRequest } from "./model.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

const BODY = "You review changes. Be short.";
const FILE = `---
name: reviewer
description: Reviews changes
model: claude-sonnet-4-5
tools: Read, Grep
maxTurns: 5
threadmux: { mode: single }
---
${BODY}
`;

/** The first request of the conversation; the program's own small requests offer no tools. */
const asked = () => real.model.requests.find(({ tools }) => (tools?.length ?? 0) > 0);
const toolsOf = ({ tools = [] }: ModelRequest) => tools.map(({ name }) => name).sort();
const systemOf = ({ system }: ModelRequest) => (system as { text: string }[]).map(({ text }) => text);
const wordsOf = ({ messages }: ModelRequest) => JSON.stringify(messages);

async function bare(): Promise<ModelRequest> {
  const { program, env } = real.program();
  const { dir, home } = real.open();
  mkdirSync(join(home, ".claude", "agents"), { recursive: true });
  writeFileSync(join(home, ".claude", "agents", "reviewer.md"), FILE);
  const args = ["-p", "--agent", "reviewer", says("Look at it.", { text: "Fine." })];
  const all = { PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8", HOME: home, ...env };
  const child = spawn(program, args, { cwd: dir, env: all, stdio: "ignore" });
  await new Promise((resolve) => child.once("exit", resolve));
  const request = asked();
  if (!request) throw new Error("the bare program has asked its model nothing");
  real.model.requests.splice(0);
  return request;
}

async function here(): Promise<ModelRequest> {
  const { directive } = parseDirective("reviewer.md", Buffer.from(FILE));
  if (!directive) throw new Error("the file has a fault");
  const base = { engine: "claude" as const, mode: "conversation" as const, workspace: "shared" as const };
  const agent = { ...base, tags: [], limits: {}, params: {}, needs: [] };
  const found = { directive, space: "user" as const, file: "/reviewer.md", sha256: "0".repeat(64) };
  const merged = mergeDirective({ agent, command: "", inputs: {} }, found, "claude");
  const thread = real.open({ agent: merged.agent });
  thread.write(says("Look at it.", { text: "Fine." }));
  thread.start();
  await thread.event("turn_end");
  const request = asked();
  if (!request) throw new Error("the thread has asked its model nothing");
  return request;
}

test("the same file asks for the same model, tools and words; what differs stands here", async () => {
  const [theirs, ours] = [await bare(), await here()];
  expect(ours.model).toBe(theirs.model);
  // The thread has none of threadmux's tools here, which the sidecar would give. It has the file's tools and no others.
  expect(toolsOf(ours)).toEqual(toolsOf(theirs));
  expect(toolsOf(ours)).toEqual(["Grep", "Read"]);
  // The bare program replaces its own text with the file's; here the file's stands at its end, once.
  const [bareText, text] = [systemOf(theirs), systemOf(ours)].map((blocks) => blocks.join("\n")) as [
    string,
    string,
  ];
  expect(bareText.split(BODY)).toHaveLength(2);
  expect(text.split(BODY)).toHaveLength(2);
  expect(text.trimEnd().endsWith(BODY)).toBe(true);
  expect(bareText.length).toBeLessThan(text.length);
  expect(wordsOf(theirs)).toContain("Look at it.");
  expect(wordsOf(ours)).toContain("Look at it.");
  // The file's part for threadmux reaches no model.
  for (const request of [theirs, ours]) expect(JSON.stringify(request)).not.toContain("threadmux:");
});
