/** Open asks as files, and files that answer them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, untilStatus, wordsOf } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, askFiles: true });
});
afterAll(() => sidecar?.close());

const folderOf = (id: string) => join(sidecar.stateDir, "threads", id, "approvals");
const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });

async function ask(id: string, command = `touch made-${id}`) {
  await openAgent(sidecar, id, script("Do it", bash(command), { text: "Said all." }));
  const { requestId } = await until("an ask", async () => (await sidecar.client.listAsks(id))[0]);
  const path = (end: string) => join(folderOf(id), `${requestId}.${end}.json`);
  await until("the request's file", () => existsSync(path("request")));
  const request = JSON.parse(readFileSync(path("request"), "utf8")) as { hash: string };
  const respond = (response: unknown) =>
    writeFileSync(path("response"), typeof response === "string" ? response : JSON.stringify(response), {
      flag: "wx",
    });
  const isMade = () => existsSync(join(sidecar.reposDir, id, `made-${id}`));
  const untilGone = () => until("the files to be gone", () => !existsSync(folderOf(id)));
  return { requestId, request, path, respond, isMade, untilGone };
}

test("what is asked is a file while it is asked, and a file beside it answers", async () => {
  const { requestId, request, respond, isMade, untilGone } = await ask("yes");
  expect(request).toMatchObject({
    id: requestId,
    thread_id: "yes",
    kind: "permission",
    prompt: expect.stringContaining("touch made-yes"),
    created_at: expect.stringMatching(/^\d{4}-/),
    timeout_seconds: null,
    tool: "Bash",
    input: { command: "touch made-yes" },
    hash: expect.stringMatching(/\w{8}/),
  });
  respond({ approved: true, hash: request.hash });
  await until("the call", isMade);
  await untilGone();
});

test("refused by a file, with its reason", async () => {
  const { respond, isMade, untilGone } = await ask("no");
  respond({ approved: false, message: "not today" });
  await untilGone();
  await untilStatus(sidecar, "no", "idle");
  expect(isMade()).toBe(false);
});

test("half a file is read when it is whole; what does not fit is set aside, and the ask stays", async () => {
  const { path, respond, isMade, untilGone } = await ask("odd");
  const refusals = [
    { approved: true, hash: "another call" },
    { approved: "yes" },
    { approved: true, content: {} },
  ];
  for (const response of refusals) {
    respond(response);
    await until("it to be set aside", () => existsSync(path("refused")) && !existsSync(path("response")));
    expect((await sidecar.client.listAsks("odd")).length).toBe(1);
  }
  const secret = join(sidecar.stateDir, "elsewhere.json");
  writeFileSync(secret, '{"approved":true}');
  symlinkSync(secret, path("response"));
  await until("the link to be set aside", () => !existsSync(path("response")));
  expect(isMade()).toBe(false);
  respond('{"approved":');
  writeFileSync(path("response"), '{"approved":true}');
  await until("the call", isMade);
  await untilGone();
});

test("the first answer counts, and files that an earlier sidecar left go with their asks", async () => {
  const { requestId, untilGone } = await ask("first");
  mkdirSync(folderOf("no"), { recursive: true });
  writeFileSync(join(folderOf("no"), "stale.request.json"), "{}");
  await sidecar.restart();
  await until("the stale file to be gone", () => !existsSync(folderOf("no")));
  expect(readdirSync(folderOf("first"))).toEqual([`${requestId}.request.json`]);
  await sidecar.client.answerAsk("first", requestId, { optionId: "no" });
  await untilGone();
  await until("its words", async () => (await wordsOf(sidecar, "first")).includes("Said all."));
});
