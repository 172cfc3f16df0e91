/** An agent that hears channels forgets nothing when its conversation is made shorter. With the engine `own`. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import { type ApiMessage, type Model, startModel } from "../agents/model.ts";
import { STAND_IN_CONFIG, transcriptOf, untilStatus } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { envOf } from "../support/own-agent.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

const id = (n: number) => aDiscordId(String(300_000_000_000_000_000n + BigInt(n)));
const [OPS, ALICE, BOB, CY, DAN] = [id(1), id(11), id(12), id(13), id(14)];
const NAMES = { [ALICE]: "alice", [BOB]: "bob", [CY]: "cy", [DAN]: "dan" };
/** More than this makes the conversation shorter. */
const MAX_TOKENS = 1_000;
const LONG = "word ".repeat(400);

const folders = makeSidecarFolders();
let model: Model;
let sidecar: TestSidecar;
/** What the agent's model says next; then it rests. */
let rounds: Round[] = [];
let summary = "Short.";
beforeAll(async () => {
  const say = (messages: readonly ApiMessage[]) =>
    (isOfChild(messages) ? childRound : rounds.shift()) ?? REST;
  model = await startModel({ say, summary: () => summary });
  const threadEnv = { PATH: folders.env["PATH"] ?? "", HOME: folders.home, ...envOf("anthropic", model.url) };
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, threadEnv }, { folders });
  const people = Object.entries(NAMES).map(([who, handle]) => ({
    id: aDiscordId(who),
    role: "maker" as const,
    handle,
  }));
  await sidecar.client.putPeople(people);
  await sidecar.client.putFixedChannels([{ id: OPS, dir: ".", mode: "off" }]);
  await new Vm(sidecar.client).channels.putPlace(OPS, { name: "ops", problem: null });
});
afterAll(async () => {
  await sidecar?.close();
  await model?.close();
});

const REST: Round = { text: "Resting.", inputTokens: 10, outputTokens: 1 };
const childRound: Round = { text: "Child.", waitFor: join(folders.path, "child-ends") };
const isOfChild = (messages: unknown) =>
  JSON.stringify(messages).includes("Count the files") && !told(messages).includes("[discord:");
const told = (messages: unknown) => JSON.stringify(messages);
const tool = (name: string, input: Record<string, unknown>) => ({ name, input });
const ours = (name: string, input: Record<string, unknown>) => tool(`mcp__threadmux__${name}`, input);
const write = (threadId: string, by: string, text: string) =>
  sidecar.as(by).sendInput(threadId, { text, channelId: OPS });
const asksOf = (threadId: string, what: string) =>
  untilValue(
    `the ask about ${what}`,
    async () =>
      (await sidecar.client.listAsks(threadId)).filter(({ request }) =>
        JSON.stringify(request).includes(what),
      ),
    (asks) => asks.length > 0,
  );
const begin = async (threadId: string) => {
  mkdirSync(join(sidecar.reposDir, threadId));
  rounds = [{ text: `Hm. ${LONG}`, inputTokens: 10, outputTokens: 1 }];
  const agent = { engine: "own" as const, voice: "message" as const, params: { maxInputTokens: MAX_TOKENS } };
  await sidecar.client.createThread({ threadId, type: "agent", dir: threadId, command: "Begin", agent });
  await untilStatus(sidecar, threadId, "idle");
};
const compactions = async (threadId: string) =>
  (await transcriptOf(sidecar, threadId)).flatMap((event) =>
    event.type === "compaction_update" ? [event.status] : [],
  );
const isSummary = ({ messages }: Model["requests"][number]) =>
  told(messages.at(-1)).includes("Summarise this conversation");
/** The first request after a summary, of those that came after so many. */
const firstAfter = (count: number) => {
  const at = model.requests.findIndex((request, n) => n >= count && isSummary(request));
  const next = at < 0 ? undefined : model.requests[at + 1];
  return next && told(next.messages);
};

test("a summary that frees nothing is refused, and is not asked for again before more was said", async () => {
  await begin("vain");
  const full: Round = { text: "Hm.", inputTokens: MAX_TOKENS + 1 };
  const [before, hears] = [
    model.requests.filter(isSummary).length,
    async (by: string) => {
      rounds = [full, full];
      await write("vain", by, "Well?");
      await until("the end of it", async () => rounds.length === 0);
      await untilStatus(sidecar, "vain", "idle");
      return { asked: model.requests.filter(isSummary).length - before, said: await compactions("vain") };
    },
  ];
  summary = LONG.slice(0, -200);
  // It is asked for before the second answer, because the first one told how full the context is.
  expect(await hears(ALICE)).toEqual({ asked: 1, said: ["in_progress", "failed"] });
  summary = "Short.";
  // Of the next two answers the first comes two items after that, the second four.
  expect(await hears(BOB)).toEqual({ asked: 2, said: ["in_progress", "failed", "in_progress", "completed"] });
  const at = model.requests.findLastIndex(isSummary);
  expect(
    model.requests
      .slice(before)
      .filter((one) => told(one.messages).includes("bob"))
      .indexOf(model.requests[at] as never),
  ).toBe(1);
});

test("the first request after it names three people without an answer, the ask, the child, the command and the job", async () => {
  await begin("open");
  const count = model.requests.length;
  // The rule lets the server run later, which then is asked about no more.
  rounds = [{ tools: [tool("bash", { command: "tail -f --version" })], inputTokens: 10, outputTokens: 1 }];
  await sidecar.client.sendInput("open", { text: "Prepare" });
  const [rule] = await asksOf("open", "tail -f");
  await sidecar.client.answerAsk("open", rule?.requestId ?? "", { optionId: "thread" });
  await untilStatus(sidecar, "open", "idle");
  const [written, waits] = ["written", "waits"].map((name) => join(folders.path, name)) as [string, string];
  const job = { name: "nightly", when: "in 5h", text: "Look at the disk." };
  rounds = [
    [ours("job_add", job), ours("spawn_thread", { prompt: "Count the files", title: "counting" })],
    [tool("bash", { command: "tail -f /dev/null", background: true })],
    [tool("bash", { command: "touch made.txt" })],
    [ours("list_threads", {})],
  ].map((tools, at) => ({
    ...{ tools, inputTokens: at === 3 ? MAX_TOKENS + 1 : 10, outputTokens: 1 },
    ...(at < 2 && { waitFor: at === 0 ? written : waits }),
  }));
  for (const [who, text] of [
    [ALICE, "One?"],
    [BOB, "Two?"],
    [CY, "Three?"],
  ] as const)
    await write("open", who, text);
  // One delivery is on its way at a time: the first is heard by now, and the third once the second was.
  writeFileSync(written, "");
  await until("the third", async () => (await sidecar.client.getThread("open")).waiting === 0);
  writeFileSync(waits, "");
  await asksOf("open", "touch made.txt");
  // While somebody else writes the ask is put aside, and the turn goes on.
  await write("open", DAN, "And now?");
  const request = await until("the first request afterwards", () => firstAfter(count));
  expect(await compactions("open")).toEqual(["in_progress", "completed"]);
  expect(request).toContain("[threadmux: your conversation was shortened. This is open:]");
  for (const who of ["alice", "bob", "cy", "dan"])
    expect(request).toMatch(
      new RegExp(`- discord:#ops/${who} of \\d\\d:\\d\\d has no answer from you yet\\.`),
    );
  expect(request).toMatch(/- A person is still asked whether this may run: [^\\]*touch made\.txt/);
  expect(request).toMatch(/- Your child [\w-]+ is at work: counting/);
  expect(request).toMatch(/- In the background b\d runs: tail -f \/dev\/null/);
  expect(request).toContain("- You have made the job nightly: job_list says when it is due.");
  expect(request.split("This is open:")).toHaveLength(2);
  expect(existsSync(join(sidecar.reposDir, "open", "made.txt"))).toBe(false);
  writeFileSync(join(folders.path, "child-ends"), "");
});
