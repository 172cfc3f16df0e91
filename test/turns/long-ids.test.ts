import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

/** The longest id, and one that differs in its last character alone. */
const LONG = "x".repeat(63);

test("threads of 64 characters are told apart, and do all that others do", async ({ onTestFinished }) => {
  const sidecar = await startSidecar(STAND_IN_CONFIG);
  onTestFinished(() => sidecar.close());
  const { client, reposDir } = sidecar;
  const [agent, terminal] = [`${LONG}1`, `${LONG}2`];
  mkdirSync(join(reposDir, agent));
  execFileSync("git", ["init", "-q"], { cwd: join(reposDir, agent) });
  await openTerminal(client, terminal, "cat");
  await client.sendInput(terminal, { text: "typed" });
  await untilOutput(client, terminal, "typed\r\ntyped");
  const write = { tools: [{ name: "Write", input: { file_path: "new.txt", content: "x" } }] };
  await openAgent(sidecar, agent, script("Write", write, { text: "Written." }), {
    agent: { permissionMode: "acceptEdits" },
  });
  await until("a permission or the end", async () => {
    const [ask] = await client.listAsks(agent);
    if (ask) await client.answerAsk(agent, ask.requestId, { optionId: "once" });
    return (await wordsOf(sidecar, agent)).includes("Written.");
  });
  await untilStatus(sidecar, agent, "idle");
  // A child knows its parent by the whole id, and a message says from whom it is.
  const input = { prompt: script("Child", { text: "Done." }), mode: "async" };
  const spawned = await callTool(sidecar, { threadId: agent, name: "spawn_thread", input, callId: "c" });
  const child = /child-\w+/.exec(spawned)?.[0] ?? "";
  await untilStatus(sidecar, child, "idle");
  expect(await client.getThread(child)).toMatchObject({ parentId: agent });
  const text = script("Hear", { text: "Heard." });
  await callTool(sidecar, {
    threadId: agent,
    name: "message",
    input: { threadId: child, text },
    callId: "m",
  });
  await until("it to be read", async () => (await wordsOf(sidecar, child)).includes("Heard."));
  const heard = (await transcriptOf(sidecar, child)).filter(({ type }) => type === "user_message");
  expect(heard.at(-1)).toMatchObject({ source: `thread:${agent}` });
  await sidecar.restart();
  await client.controlAgent(agent, { control: "undo" });
  await until("the file to be gone", () => !existsSync(join(reposDir, agent, "new.txt")));
  await client.killThread(agent);
  expect(await client.getThread(terminal)).toMatchObject({ status: "running" });
  expect(await refusal(client.getThread(`${LONG}${LONG}`))).toMatchObject({ code: "not_found" });
});
