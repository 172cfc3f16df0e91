/** An agent that hears channels rests while a command of its runs in the background, and is told of its end. With `own`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { type Model, startModel } from "../agents/model.ts";
import { engineOf } from "../support/agent-siege.ts";
import { BYPASS_CONFIG, transcriptOf, untilStatus } from "../support/agents.ts";
import { envOf } from "../support/own-agent.ts";
import { signal } from "../support/processes.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const folders = makeSidecarFolders();
let model: Model;
let sidecar: TestSidecar;
let rounds: Round[] = [];
beforeAll(async () => {
  model = await startModel({ say: () => rounds.shift() ?? { text: "Resting." } });
  const threadEnv = { PATH: folders.env["PATH"] ?? "", HOME: folders.home, ...envOf("anthropic", model.url) };
  sidecar = await startSidecar({ ...BYPASS_CONFIG, threadEnv }, { folders });
});
afterAll(async () => {
  await sidecar?.close();
  await model?.close();
});

const go = (threadId: string) => join(folders.path, `${threadId}-go`);
/** The command of the thread runs in the background, and its agent rests. */
async function begin(threadId: string): Promise<void> {
  mkdirSync(join(sidecar.reposDir, threadId));
  const command = `until [ -e ${go(threadId)} ]; do sleep 0.1; done; echo built`;
  rounds = [{ tools: [{ name: "bash", input: { command, background: true } }] }];
  const agent = { engine: "own" as const, voice: "message" as const, permissionMode: "bypassPermissions" };
  await sidecar.client.createThread({ threadId, type: "agent", dir: threadId, command: "Build", agent });
  await until("its rest", async () => (await told(threadId)).includes("Resting."));
  await until("the end of the turn", async () => (await sidecar.client.getThread(threadId)).turn === null);
}
const told = async (threadId: string) => JSON.stringify(await transcriptOf(sidecar, threadId));
const heard = () => JSON.stringify(model.requests.at(-1)?.messages);

test("its end is an input that wakes the agent, once; the tool process then tells what it printed", async () => {
  await begin("builds");
  rounds = [{ tools: [{ name: "process", input: { action: "read", id: "b1" } }] }, { text: "It is built." }];
  writeFileSync(go("builds"), "");
  await until("the last word", async () => (await told("builds")).includes("It is built."));
  expect(heard()).toMatch(/\[threadmux \d\d:\d\d\] Your command b1 has ended: until \[/);
  expect(heard()).toMatch(/built[^"]*\(It has ended\. Exit code 0\./);
  await untilStatus(sidecar, "builds", "idle");
  expect(heard().split("Your command b1 has ended")).toHaveLength(2);
});

test("one that dies with the engine is told as lost, though nobody writes", async () => {
  await begin("dies");
  const folder = join(sidecar.stateDir, "threads", "dies");
  const pid = await until("the engine", () => engineOf(folder, "engines/own"));
  signal(pid, "SIGKILL");
  const lost = "Your command b1 was ended, because the session was restarted";
  await until("the word of it", () => heard().includes(lost));
  await untilStatus(sidecar, "dies", "idle");
  expect(heard().split(lost)).toHaveLength(2);
});
