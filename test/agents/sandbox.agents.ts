/** The real program in the sandbox: it works, sees nothing of the state folder, and is taken up after a kill. */
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { TRUST_OPTION } from "../../shared/agent/trust.ts";
import { folderOf, processesOf } from "../support/agent-siege.ts";
import { bash } from "../support/agent-threads.ts";
import { BYPASS_CONFIG, openAgent, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { signal } from "../support/processes.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";
import { type Model, startModel } from "./model.ts";
import { claudeEnvironment, claudeProgram } from "./real.ts";

let model: Model | undefined;
let sidecar: TestSidecar | undefined;
afterEach(async () => {
  await sidecar?.close();
  await model?.close();
});

test("it works there, and nothing leads to the state folder", { timeout: 120_000 }, async () => {
  model = await startModel();
  const folders = makeSidecarFolders();
  const { agent } = BYPASS_CONFIG;
  if (!agent) throw new Error("the tests' agent is missing");
  const threadEnv = {
    PATH: process.env["PATH"] ?? "",
    HOME: folders.home,
    LANG: "C.UTF-8",
    ...claudeEnvironment(model),
  };
  const config = { ...BYPASS_CONFIG, token: undefined, sandbox: "state" as const, threadEnv };
  sidecar = await startSidecar({ ...config, agent: { ...agent, program: claudeProgram() } }, { folders });
  const { client } = sidecar;
  expect((await client.getHealth()).sandbox).toMatchObject({ mode: "state", problem: null });
  const token = readFileSync(join(folders.stateDir, "token"), "utf8").trim();
  mkdirSync(join(folders.reposDir, "spy"));
  symlinkSync(folders.stateDir, join(folders.reposDir, "spy", "docs"));
  const tries = {
    tools: [bash("cat docs/t*; grep -aR . docs/ | head -c 5000; echo tried; echo here > made")],
  };
  await openAgent(sidecar, "spy", script("look", tries, { text: "Done." }), {
    agent: { permissionMode: "bypassPermissions" },
  });
  const [ask] = await until("the trust question", async () => {
    const asks = await client.listAsks("spy");
    return asks.length > 0 && asks;
  });
  await client.answerAsk("spy", ask?.requestId ?? "", { optionId: TRUST_OPTION });
  await until("its words", async () => (await wordsOf(sidecar as TestSidecar, "spy")).includes("Done."));
  const transcript = JSON.stringify(await transcriptOf(sidecar, "spy"));
  expect(transcript).toContain("tried");
  expect(transcript).not.toContain(token);
  expect(JSON.stringify(model.requests)).not.toContain(token);
  expect(readFileSync(join(folders.reposDir, "spy", "made"), "utf8")).toBe("here\n");

  const slow = script("again", { tools: [bash("timeout 3 tail -f /dev/null; true")] }, { text: "Went on." });
  await client.sendInput("spy", { text: slow });
  await until("the call to run", () => processesOf(folderOf(sidecar as TestSidecar, "spy")).some(isCall));
  const engine = processesOf(folderOf(sidecar, "spy")).find((one) => /^\d+ \S*claude\S* -p /.test(one));
  signal(Number.parseInt(engine ?? "", 10), "SIGKILL");
  await until(
    "it to go on",
    async () => (await wordsOf(sidecar as TestSidecar, "spy")).includes("Went on."),
    {
      timeoutMs: 60_000,
    },
  );
  await untilStatus(sidecar, "spy", "idle");
  await client.killThread("spy");
  await until(
    "no process to be left",
    () => processesOf(folderOf(sidecar as TestSidecar, "spy")).length === 0,
  );
});

const isCall = (one: string) => one.includes("tail -f /dev/null");
