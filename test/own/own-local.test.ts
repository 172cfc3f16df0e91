/** The engine `own` with a server of a person's own, which does what such servers do. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openThreads, says } from "../support/agent-threads.ts";
import { envOf, killAll, modelOfFile, ownOptions } from "../support/own-agent.ts";

const openThread = openThreads();
const model = modelOfFile();

const open = () => openThread(ownOptions(envOf("openai-compatible", model.url)));

test.each(["none", "same"] as const)(
  "two calls whose ids are %s are two, each with its result",
  async (ids) => {
    const thread = open();
    for (const name of ["a", "b"]) writeFileSync(join(thread.dir, name), `content of ${name}\n`);
    const read = (name: string) => ({ name: "read", input: { file_path: name } });
    model.faults.push({ ids });
    thread.write(says("look", { tools: [read("a"), read("b")] }, { text: "Seen." }));
    thread.start();
    expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
    const told = JSON.parse(JSON.stringify(model.requests[1]?.messages)) as {
      role: string;
      tool_calls?: { id: string; function: { arguments: string } }[];
      tool_call_id?: string;
      content: string;
    }[];
    const calls = told.flatMap(({ tool_calls = [] }) => tool_calls);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    for (const { id, function: called } of calls) {
      const { file_path: name } = JSON.parse(called.arguments) as { file_path: string };
      const result = told.find(({ tool_call_id }) => tool_call_id === id);
      expect(result?.content).toContain(`content of ${name}`);
    }
  },
);

test("a conversation that is cut at its front, and a call as text, are said once, also after a kill", async () => {
  const thread = open();
  const long = "many words ".repeat(500);
  thread.write(says("one", { text: long, inputTokens: 4_000 }));
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("notice")).toEqual([]);
  thread.write(says("two", { text: long, inputTokens: 4_000 }));
  await thread.event("turn_end", 2);
  const notices = () => thread.of("notice").map(({ title, description }) => ({ title, description }));
  expect(notices()).toEqual([
    {
      title: "The server seems to cut the conversation at its front",
      description: expect.stringMatching(/^It read 4,000 tokens of about [\d,]+: .*OLLAMA_CONTEXT_LENGTH/),
    },
  ]);
  await killAll(thread);
  const asText = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>';
  thread.write(says("three", { text: `${asText}${long}`, inputTokens: 4_000 }));
  await thread.eventOfRunners("turn_end", 3);
  thread.write(says("four", { text: `${asText}${long}`, inputTokens: 4_000 }));
  await thread.eventOfRunners("turn_end", 4);
  expect(notices().map(({ title }) => title)).toEqual([
    "The server seems to cut the conversation at its front",
    "The model writes its calls as text, so nothing is run",
  ]);
});
