/** The real program: a conversation begun by hand at a terminal is listed, known to be open, taken, and goes on by hand. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawn } from "node-pty";
import { afterEach, expect, test } from "vitest";
import { conversations } from "../../shared/protocol/conversations.ts";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
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

/** A person's claude in a terminal of their own. */
function sitDown(
  dir: string,
  env: Record<string, string>,
): { type(text: string): Promise<void>; leave(): Promise<void> } {
  const pty = spawn(claudeProgram(), [], { name: "xterm-256color", cols: 100, rows: 40, cwd: dir, env });
  let shown = "";
  let isOver = false;
  pty.onData((data) => {
    shown += data;
  });
  pty.onExit(() => {
    isOver = true;
  });
  return {
    type: async (text) => {
      await until("its prompt", () => shown.includes("\u276f"));
      pty.write(text);
      await until("the text in its prompt", () => shown.includes(text.slice(-3)));
      pty.write("\r");
    },
    leave: async () => {
      pty.kill("SIGTERM");
      await until("its end", () => isOver);
    },
  };
}

test("begun by hand, taken while nobody has it open, and both go on", { timeout: 120_000 }, async () => {
  model = await startModel();
  const { requests } = model;
  const folders = makeSidecarFolders();
  const { agent } = BYPASS_CONFIG;
  if (!agent) throw new Error("the tests' agent is missing");
  const env = { ...folders.env, TERM: "xterm-256color", ...claudeEnvironment(model) };
  const config = { ...BYPASS_CONFIG, threadEnv: env };
  sidecar = await startSidecar({ ...config, agent: { ...agent, program: claudeProgram() } }, { folders });
  const { client } = sidecar;
  const place = join(folders.reposDir, "by hand");
  mkdirSync(place);
  const settings = {
    hasCompletedOnboarding: true,
    theme: "dark",
    customApiKeyResponses: { approved: ["test-key"], rejected: [] },
    projects: { [place]: { hasTrustDialogAccepted: true } },
  };
  writeFileSync(join(folders.home, ".claude.json"), JSON.stringify(settings));

  const person = sitDown(place, env);
  await person.type("remember m-1");
  const query = { dir: "by hand" };
  const list = () => sidecar!.client.call(conversations.list, {}, { query });
  const found = await until("the conversation, open", async () => {
    const [one] = (await list()).conversations;
    return one?.openPid ? one : undefined;
  });
  expect(found).toMatchObject({ firstWords: "remember m-1", messages: 1 });
  const { sessionId } = found;
  const body = { threadId: "taken", dir: "by hand", sessionId, title: "taken" };
  const refused = client.call(conversations.take, {}, { body });
  await expect(refused).rejects.toMatchObject({ code: "conversation_open" });
  await until("its answer", () => requests.length > 0);
  await person.leave();
  expect((await list()).conversations).toMatchObject([{ sessionId, openPid: null }]);

  const text = script("and m-2", { text: "Both known." });
  await client.call(conversations.take, {}, { body: { ...body, text, force: true } });
  await until("its words", async () => (await wordsOf(sidecar!, "taken")).includes("Both known."));
  const inContext = () => JSON.stringify(requests.at(-1)?.messages).match(/\bm-\d\b/g);
  expect(inContext()).toEqual(["m-1", "m-2"]);
  await untilStatus(sidecar, "taken", "idle");
  const events = await transcriptOf(sidecar, "taken");
  const start = events.find(({ type }) => type === "engine_start");
  expect(start).toMatchObject({ sessionId: expect.not.stringMatching(sessionId) });
  expect(start).not.toHaveProperty("reseeded");
  expect(events.filter(({ type }) => type === "initial_message")[0]).toMatchObject({ text: "remember m-1" });

  // The person's own goes on by the id that was told, and knows nothing of the thread.
  const args = ["-p", "--resume", sessionId, `then m-3 ${randomUUID()}`];
  await promisify(execFile)(claudeProgram(), args, { cwd: place, env });
  expect(inContext()).toEqual(["m-1", "m-3"]);
  // The list leaves out the conversation that the thread's own engine has written.
  expect((await list()).conversations.map((one) => one.sessionId)).not.toContain(
    start && "sessionId" in start ? start.sessionId : "",
  );
});
