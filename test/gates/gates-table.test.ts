/** Gates × limits × marks × answers by files: no decision of a gate widens one of the others. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const openThread = openThreads();
const COMMAND_YES = "command: exit 0";

interface Row {
  gates: object[];
  /** The limit of the model's calls, if there is one; the second call of the tool comes after it. */
  calls?: number;
  isMarked?: true;
  /** The asks before the first call runs, in their order; a person says yes to each. */
  asked: string[];
  /** The ask before the second call, which does not run, because nobody answers. */
  next?: string;
}

const before = (by: string) => ({ at: "before_step", by });
const limit = (by: string) => ({ at: "on_limit", by });

/** The rows run in the mode `auto`, which by itself asks about none of these calls. */
const ROWS: [string, Row][] = [
  ["no gate", { gates: [limit("person")], asked: [] }],
  ["no gate, marked", { gates: [limit("person")], isMarked: true, asked: ["engine"], next: "engine" }],
  ["a command's yes", { gates: [before(COMMAND_YES)], asked: [] }],
  [
    "a command's yes, marked",
    { gates: [before(COMMAND_YES)], isMarked: true, asked: ["engine"], next: "engine" },
  ],
  ["a person's yes", { gates: [before("person")], asked: ["before_step"], next: "before_step" }],
  [
    "a person's yes, marked: for this call alone",
    { gates: [before("person")], isMarked: true, asked: ["before_step"], next: "before_step" },
  ],
  [
    "a command's and a person's yes, marked",
    {
      gates: [before(COMMAND_YES), before("person")],
      isMarked: true,
      asked: ["before_step"],
      next: "before_step",
    },
  ],
  ["a limit", { gates: [before(COMMAND_YES)], calls: 1, asked: [], next: "limit" }],
  ["a command's yes at a limit", { gates: [limit(COMMAND_YES)], calls: 1, asked: [], next: "limit" }],
  [
    "a person's yes, then a limit",
    { gates: [before("person")], calls: 1, asked: ["before_step"], next: "limit" },
  ],
  [
    "a command's yes everywhere, at a limit, marked",
    {
      gates: [before(COMMAND_YES), limit(COMMAND_YES)],
      calls: 1,
      isMarked: true,
      asked: ["engine"],
      next: "limit",
    },
  ],
];

/**
 * Waits for the ask of this number. The engine's own ask that a person's yes at a gate answers at once does not count.
 */
async function askOf(thread: AgentThread, count: number) {
  return until(`ask ${count}`, () => askedOf(thread)[count - 1]);
}
function askedOf(thread: AgentThread) {
  const byEngine = thread.of("permission_response").filter(({ id }) => id.startsWith("e"));
  const answered = new Set(byEngine.map(({ seq }) => seq));
  return thread.of("permission_request").filter(({ seq }) => !answered.has(seq + 1));
}

const isMade = (thread: AgentThread, name: string) => existsSync(join(thread.dir, name));
const kindOf = ({ gate, limit }: { gate?: string | undefined; limit?: unknown }) =>
  limit ? "limit" : (gate ?? "engine");

test.each(ROWS)("%s", async (_name, { gates, calls, isMarked, asked, next }) => {
  const thread = openThread({ agent: { permissionMode: "auto", gates, limits: calls ? { calls } : {} } });
  if (isMarked) thread.append({ op: "mark", why: "a request of the hook deploy", by: "job:deploy" });
  const rounds = [{ tools: [bash("touch one")] }, { tools: [bash("touch two")] }, { text: "Done." }];
  thread.write(says("Go", ...rounds));
  thread.start();
  for (const [at, kind] of asked.entries()) {
    const ask = await askOf(thread, at + 1);
    expect(kindOf(ask)).toBe(kind);
    expect(isMade(thread, "one")).toBe(false);
    thread.answer(ask.requestId, kind === "engine" ? "once" : "continue");
  }
  await until("the first call", () => isMade(thread, "one"));
  if (next === undefined) await thread.event("turn_end");
  else expect(kindOf(await askOf(thread, asked.length + 1))).toBe(next);
  expect(askedOf(thread)).toHaveLength(asked.length + (next === undefined ? 0 : 1));
  expect(isMade(thread, "two")).toBe(next === undefined);
  expect(thread.fold().grantedRules).toEqual([]);
});

describe.each([true, false])("ASK_FILES=%s", (askFiles) => {
  let sidecar: TestSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar({ ...STAND_IN_CONFIG, askFiles });
  });
  afterAll(() => sidecar?.close());

  const RIGHT = callKeyOf("Bash", { command: "touch it" });

  test.each<[string, object, "runs" | "denied" | "open"]>([
    ["a yes", { approved: true }, "runs"],
    ["a yes for this call", { approved: true, hash: RIGHT }, "runs"],
    [
      "a yes for another call",
      { approved: true, hash: callKeyOf("Bash", { command: "touch that" }) },
      "open",
    ],
    ["a yes for what is none", { approved: true, hash: "" }, "open"],
    ["a yes and a rule", { approved: true, optionId: "thread" }, "open"],
    ["a no", { approved: false, message: "not today" }, "denied"],
  ])("a file with %s", async (name, answer, comes) => {
    const id = name.replaceAll(" ", "-");
    const dir = join(sidecar.reposDir, id);
    mkdirSync(dir);
    const command = script(
      "Go",
      { tools: [{ name: "Bash", input: { command: "touch it" } }] },
      { text: "Done." },
    );
    const agent = { permissionMode: "auto", gates: [{ at: "before_step" as const, by: "person" as const }] };
    await sidecar.client.createThread({ threadId: id, type: "agent", dir: id, command, agent });
    const [ask] = await until("the gate's ask", async () => {
      const asks = await sidecar.client.listAsks(id);
      return asks.length > 0 && asks;
    });
    const { requestId = "" } = ask ?? {};
    const folder = threadPath(join(sidecar.stateDir, "threads", id), "approvals");
    await until("the request's file", () => existsSync(join(folder, `${requestId}.request.json`)));
    writeFileSync(join(folder, `${requestId}.response.json`), JSON.stringify(answer));
    if (askFiles && comes !== "open") await untilStatus(sidecar, id, "idle", 30_000);
    else if (askFiles)
      await until("its refusal", () => existsSync(join(folder, `${requestId}.refused.json`)));
    else await sidecar.client.answerAsk(id, requestId, { optionId: "fail" });
    if (!askFiles) await untilStatus(sidecar, id, "idle", 30_000);
    expect(existsSync(join(dir, "it"))).toBe(askFiles && comes === "runs");
    expect((await sidecar.client.listAsks(id)).length).toBe(askFiles && comes === "open" ? 1 : 0);
  });
});
