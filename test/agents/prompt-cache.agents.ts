/** The provider's cache of a conversation holds: each request to the model begins with all of the one before it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentThread, bash, says } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";
import type { ModelRequest } from "./model.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

/** Those of the conversation, without the program's own little questions. */
const requests = () => real.model.requests.filter(({ tools }) => (tools?.length ?? 0) > 0);

/** In so many requests the newest thing said was this word, or what its call printed. */
const told = (word: string) =>
  requests().filter(({ messages }) => JSON.stringify(messages.at(-1)).includes(word)).length;

async function turn(thread: AgentThread, word: string): Promise<void> {
  const before = thread.of("turn_end").length;
  thread.write(says(word, { tools: [bash(`echo ${word}`)] }, { text: `said ${word}` }));
  if (!thread.runner) thread.start();
  await thread.event("turn_end", before + 1);
}

test("messages, tools and system text stay, over turns, a message in mid-turn, a rest and a kill", async () => {
  const thread = real.open({ agent: { permissionMode: "bypassPermissions" }, timeouts: { idleSeconds: 2 } });
  await turn(thread, "one");
  const gate = join(thread.folder, "go");
  thread.write(says("two", { tools: [bash("echo two")], waitFor: gate }, { text: "said two" }));
  await until("its request", () => told("two") > 0);
  thread.write("meanwhile"); // its answer is the rest of the script
  await thread.event("user_message", 3);
  writeFileSync(gate, "");
  await until("both to be done", () => thread.fold().deliveries.length === 0 && thread.fold().turn === null);
  await thread.ended();
  await turn(thread, "rested");
  thread.write(
    says("killed", { tools: [bash("echo killed")] }, { text: "said killed", waitFor: `${gate}2` }),
  );
  await until("its last request", () => told("killed") === 2);
  const atKill = requests().length;
  const pid = thread.enginePid();
  if (pid) signal(pid, "SIGKILL");
  writeFileSync(`${gate}2`, "");
  await until("the turn's end", () => thread.of("agent_message").some(({ text }) => text === "said killed"));
  await thread.ended();
  expect(thread.of("engine_start").length).toBeGreaterThan(2);

  const all = requests();
  expect(all.length).toBeGreaterThan(7);
  for (const [i, request] of all.slice(1).entries()) {
    const before = plain(all[i]);
    const now = plain(request);
    const where = `request ${i + 1} of ${all.length}`;
    // What the program had not saved when it was killed, it can't say again: that is the newest message at most.
    const kept = before.messages.slice(0, i + 1 === atKill ? -1 : undefined);
    expect(now.messages.slice(0, kept.length), where).toEqual(kept);
    expect(now.tools, where).toEqual(before.tools);
    expect(now.system, where).toEqual(before.system);
  }
});

/** Without the marks that say up to where it may be kept: they move on with the conversation's end. */
function plain({ messages, tools, system }: ModelRequest = { at: 0, model: "", messages: [] }) {
  const blocks = messages.map(({ content, ...rest }) => ({
    ...rest,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));
  const text = JSON.stringify({ messages: blocks, tools, system }, (key, value) =>
    key === "cache_control" ? undefined : value,
  );
  return JSON.parse(text) as { messages: unknown[]; tools: unknown; system: unknown };
}
