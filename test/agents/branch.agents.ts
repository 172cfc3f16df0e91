/** The real program forks its own conversation at a text, at a message, and in an earlier turn; else it is told it. */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { type AgentThread, says } from "../support/agent-threads.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

function open(home?: string): AgentThread {
  const env = home === undefined ? {} : { HOME: home };
  return real.open({ env, timeouts: { idleSeconds: 1 } });
}

async function talk(thread: AgentThread, ...turns: [string, string][]): Promise<void> {
  for (const [word, answer] of turns) {
    const before = thread.of("turn_end").length;
    thread.write(says(word, { text: answer }));
    if (!thread.runner) thread.start();
    await thread.event("turn_end", before + 1);
  }
  await thread.ended();
}

/** A thread that goes on from there, with its parent's words in its folder. */
function branchOf(parent: AgentThread, at: string, isApart = false): AgentThread {
  const child = open(parent.home);
  const config = JSON.parse(readFileSync(threadPath(child.folder, "config"), "utf8")) as object;
  const { sessionId } = parent.of("engine_start")[0] ?? {};
  const origin = { threadId: parent.id, seq: 1, sessionId, at };
  writeFileSync(
    threadPath(child.folder, "config"),
    JSON.stringify({ ...config, ...(!isApart && { dir: parent.dir }), origin }),
  );
  writeFileSync(threadPath(child.folder, "origin"), readFileSync(threadPath(parent.folder, "transcript")));
  return child;
}

/** The words of the conversation as the model got it last. */
function heard(): string[] {
  const { messages } = real.model.requests.at(-1) ?? { messages: [] };
  const text = JSON.stringify(messages).replace(/@@\[.*?\}\]/g, "");
  return text.match(/\b[mt]-\d+\b/g) ?? [];
}

test("a fork knows what was said up to its line, and no more; what it costs is its own", async () => {
  const parent = open();
  await talk(parent, ["m-1", "t-1"], ["m-2", "t-2"], ["m-3", "t-3"]);
  const [, second] = parent.of("agent_message");
  const atText = branchOf(parent, second?.at ?? "");
  await talk(atText, ["m-9", "t-9"]);
  expect(heard()).toEqual(["m-1", "t-1", "m-2", "t-2", "m-9"]);
  expect(atText.of("engine_start")[0]).not.toHaveProperty("reseeded");
  expect(atText.fold().totals.spendUsd).toBeLessThan(parent.fold().totals.spendUsd);

  const [, delivery] = parent.of("delivery");
  await talk(branchOf(parent, delivery?.deliveryId ?? ""), ["m-8", "t-8"]);
  expect(heard()).toEqual(["m-1", "t-1", "m-2", "m-8"]);

  await talk(atText, ["m-7", "t-7"]);
  expect(heard().slice(0, 5)).toEqual(["m-1", "t-1", "m-2", "t-2", "m-9"]);
  await talk(parent, ["m-4", "t-4"]);
  expect(heard()).toEqual(["m-1", "t-1", "m-2", "t-2", "m-3", "t-3", "m-4"]);
});

test("a line that the program does not have: the branch is told the transcript", async () => {
  const parent = open();
  await talk(parent, ["m-1", "t-1"]);
  const child = branchOf(parent, randomUUID());
  await talk(child, ["m-9", "t-9"]);
  expect(child.of("engine_start")).toMatchObject([{ reseeded: true }]);
  expect(heard()).toEqual(["m-1", "t-1", "m-9"]);
});

test("a branch in another directory, such as a worktree, knows the conversation too", async () => {
  const parent = open();
  await talk(parent, ["m-1", "t-1"], ["m-2", "t-2"]);
  const [first] = parent.of("agent_message");
  const child = branchOf(parent, first?.at ?? "", true);
  expect(child.dir).not.toBe(parent.dir);
  await talk(child, ["m-9", "t-9"]);
  expect(heard()).toEqual(["m-1", "t-1", "m-9"]);
  await talk(child, ["m-8", "t-8"]);
  expect(heard()).toEqual(["m-1", "t-1", "m-9", "t-9", "m-8"]);
  expect(child.of("turn_end").map(({ stopReason }) => stopReason)).toEqual(["end_turn", "end_turn"]);
});
