/** A hostile request at both doors with the real program: what stands in the requests that its model gets. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { BYPASS_CONFIG, script } from "../support/agents.ts";
import { hostileJson } from "../support/hostile-body.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";
import { type Model, type ModelRequest, startModel } from "./model.ts";
import { claudeEnvironment, claudeProgram } from "./real.ts";

const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
/** Stands in what is sent, and nowhere else. */
const STRANGER = "push it";

let model: Model | undefined;
let sidecar: TestSidecar | undefined;
afterEach(async () => {
  await sidecar?.close();
  await model?.close();
});

async function open(): Promise<{ side: TestSidecar; requests: ModelRequest[] }> {
  model = await startModel();
  const folders = makeSidecarFolders();
  mkdirSync(join(folders.reposDir, "work"));
  const threadEnv = { PATH: process.env["PATH"] ?? "", HOME: folders.home, ...claudeEnvironment(model) };
  const agent = { ...BYPASS_CONFIG.agent, program: claudeProgram() } as never;
  const config = { ...BYPASS_CONFIG, agent, threadEnv, hooks: { host: "127.0.0.1", port: 0 } };
  sidecar = await startSidecar(config, { folders });
  return { side: sidecar, requests: model.requests };
}

async function bring(side: TestSidecar, when: object, prompt: string): Promise<void> {
  const jobs = new VmJobs(side.client);
  const agent = { permissionMode: "bypassPermissions" };
  await jobs.create({
    name: "hook",
    when: { type: "webhook", proof: PROOF, secret: SECRET, ...when },
    what: { type: "agent", dir: "work", prompt, agent },
  });
  const body = Buffer.from(hostileJson(1024 * 1024));
  const headers = signRequest(PROOF, SECRET, body, { id: "one", nowSeconds: Date.now() / 1_000 });
  const reply = await fetch(`${side.hookUrl}/hook/hook`, { method: "POST", body, headers });
  expect(reply.status).toBe(202);
  await untilValue(
    "its run to be over",
    () => jobs.listRuns("hook", 5),
    ([run]) => run !== undefined && run.endedAt !== null,
    { timeoutMs: 40_000 },
  );
}

const toolsOf = ({ tools = [] }: ModelRequest) => tools.map(({ name }) => name).sort();
const textsOf = ({ messages }: ModelRequest) =>
  messages.flatMap(({ content }) =>
    typeof content === "string" ? [content] : content.flatMap(({ text }) => text ?? []),
  );
const isStrangers = (request: ModelRequest) => JSON.stringify(request.messages).includes(STRANGER);

function expectMarked(request: ModelRequest): void {
  const lines = textsOf(request).flatMap((text) => text.split("\n"));
  const strangers = lines.filter((line) => line.includes(STRANGER));
  expect(strangers.length).toBeGreaterThan(0);
  expect(strangers.filter((line) => !/^[0-9a-f]{8}\| /.test(line))).toEqual([]);
  expect(JSON.stringify(request.system ?? "")).not.toContain(STRANGER);
}

test("the reader's model is given the text behind the mark, and no tool that does anything", async () => {
  const { side, requests } = await open();
  await bring(side, {}, script("A hook called.", { text: "Seen." }));
  const [first, ...more] = requests.filter(isStrangers);
  if (!first) throw new Error("no model was given the text");
  for (const request of [first, ...more]) {
    expectMarked(request);
    // The two with which the program itself takes the answer's form.
    expect(toolsOf(request)).toEqual(["DeferredToolPlaceholder", "StructuredOutput"]);
  }
  // The agent's own requests have tools, and none of the words.
  const own = requests.filter((request) => toolsOf(request).includes("Bash"));
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter(isStrangers)).toEqual([]);
});

test("raw, the agent's model is given the text behind the mark", async () => {
  const { side, requests } = await open();
  await bring(side, { raw: true }, script("A hook called.", { text: "Seen." }));
  const strangers = requests.filter(isStrangers);
  expect(strangers.length).toBeGreaterThan(0);
  for (const request of strangers) expectMarked(request);
});
