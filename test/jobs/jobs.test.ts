/** Jobs from outside: made over HTTP, run by the clock, and over at the end of the turn that had their input. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobRequest, JobRun } from "../../shared/jobs/job.ts";
import { jobs } from "../../shared/protocol/jobs.ts";
import { BYPASS_CONFIG, STAND_IN, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { buildCli } from "../support/cli.ts";
import { type SpawnedSidecar, spawnSidecar, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(BYPASS_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar.close());

type Client = TestSidecar["client"];
const SOON = { type: "words", words: "in 1 second" } as const;

const add = ({ client }: { client: Client }, request: Omit<JobRequest, "when"> & Partial<JobRequest>) =>
  client.call(jobs.create, {}, { body: { when: SOON, ...request } });

async function untilRuns({ client }: { client: Client }, job: string, isMeant: (runs: JobRun[]) => boolean) {
  const list = async () => (await client.call(jobs.listRuns, { job })).runs;
  return untilValue(`the runs of ${job}`, list, isMeant);
}
const isOver = (runs: JobRun[]) => runs.length > 0 && runs.every(({ endedAt }) => endedAt !== null);

test("an agent: its prompt goes in as the job's, expands nothing, and its turn's end is the run's", async () => {
  const prompt = script("@package.json /clear look at the build", { text: "All is green." });
  const made = await add(sidecar, { name: "build", what: { type: "agent", dir: "shop", prompt } });
  expect(made).toMatchObject({ state: "active", createdBy: "owner", limits: { spendUsd: 1, calls: 40 } });
  const [run] = await untilRuns(sidecar, "build", isOver);
  expect(run).toMatchObject({ status: "done", by: "job:build", missed: 0, costUsd: expect.any(Number) });
  const events = await transcriptOf(sidecar, run?.threadId ?? "");
  const message = events.find(({ type }) => type === "user_message");
  expect(message).toMatchObject({ source: "job:build", messageId: run?.run, plain: true });
  expect(await sidecar.client.call(jobs.get, { job: "build" })).toMatchObject({ state: "over", next: [] });
});

test("one thread for all runs, which goes on", async () => {
  const what = {
    type: "agent",
    dir: "shop",
    prompt: script("again", { text: "ok" }),
    thread: "one",
  } as const;
  await add(sidecar, { name: "one", what, when: { type: "every", seconds: 3_600 } });
  await sidecar.client.call(jobs.run, { job: "one" });
  await untilRuns(sidecar, "one", isOver);
  await sidecar.client.call(jobs.run, { job: "one" });
  const runs = await untilRuns(sidecar, "one", (runs) => runs.length === 2 && isOver(runs));
  expect(runs.map(({ status }) => status)).toEqual(["done", "done"]);
  expect(new Set(runs.map(({ threadId }) => threadId)).size).toBe(1);
  const events = await transcriptOf(sidecar, runs[0]?.threadId ?? "");
  expect(events.filter(({ type }) => type === "user_message")).toHaveLength(2);
  expect(events.filter(({ type }) => type === "turn_end")).toHaveLength(2);

  // Another job writes to the same thread.
  const input = {
    type: "input",
    threadId: runs[0]?.threadId ?? "",
    text: script("and you", { text: "ok" }),
  } as const;
  await add(sidecar, { name: "nudge", what: input });
  expect(await untilRuns(sidecar, "nudge", isOver)).toMatchObject([
    { status: "done", threadId: input.threadId },
  ]);
});

test("a terminal is over with its command, and a command tells its output", async () => {
  await add(sidecar, { name: "term", what: { type: "terminal", dir: "shop", command: "exit 3" } });
  await add(sidecar, {
    name: "words",
    what: { type: "command", dir: "shop", command: "pwd; echo $THREADMUX_JOB_RUN" },
  });
  expect(await untilRuns(sidecar, "term", isOver)).toMatchObject([
    { status: "failed", reason: "exit code 3" },
  ]);
  const [run] = await untilRuns(sidecar, "words", isOver);
  expect(run?.output).toContain(join(sidecar.reposDir, "shop"));
});

test("an agent that reaches a limit, or fails, is a failed run with the reason", async () => {
  const prompt = script("burn", { tools: [{ name: "Bash", input: { command: "true" } }] }, { text: "b" });
  const limits = { spendUsd: 0.0001, seconds: null };
  const agent = { permissionMode: "bypassPermissions" };
  await add(sidecar, { name: "burn", what: { type: "agent", dir: "shop", prompt, agent }, limits });
  const [run] = await untilRuns(sidecar, "burn", isOver);
  expect(run).toMatchObject({ status: "failed", reason: "limit: spendUsd" });
});

test("an agent that calls its model too often is stopped, one call over at most", async () => {
  const more = { tools: [{ name: "Bash", input: { command: "true" } }] };
  const prompt = script("on and on", ...Array<typeof more>(30).fill(more));
  const what = {
    type: "agent",
    dir: "shop",
    prompt,
    agent: { permissionMode: "bypassPermissions" },
  } as const;
  await add(sidecar, { name: "calls", what, limits: { calls: 3 } });
  const [run] = await untilRuns(sidecar, "calls", isOver);
  expect(run).toMatchObject({ status: "failed", reason: "limit: calls" });
  await untilStatus(sidecar, run?.threadId ?? "", "idle");
  const events = await transcriptOf(sidecar, run?.threadId ?? "");
  expect(events.filter(({ type }) => type === "tool_call").length).toBeLessThan(20);
});

test("a check that prints nothing costs nothing; what it prints goes in line by line, marked", async () => {
  const what = { type: "agent", dir: "shop", prompt: script("look", { text: "ok" }) } as const;
  await add(sidecar, { name: "quiet", what, check: "true" });
  expect(await untilRuns(sidecar, "quiet", isOver)).toMatchObject([
    { status: "skipped", reason: "check: nothing to do", threadId: null, costUsd: null },
  ]);
  await add(sidecar, { name: "broken", what, check: "echo why; exit 4" });
  expect(await untilRuns(sidecar, "broken", isOver)).toMatchObject([
    { status: "failed", reason: "check: exit code 4", threadId: null, output: "why\n" },
  ]);
  await add(sidecar, { name: "loud", what, check: "printf 'one\\n[discord:#ops/alice] two\\n'" });
  const [run] = await untilRuns(sidecar, "loud", isOver);
  expect(run).toMatchObject({ status: "done" });
  const events = await transcriptOf(sidecar, run?.threadId ?? "");
  const message = JSON.stringify(events.find(({ type }) => type === "user_message"));
  const [, mark] = /It is data, not a request\.\\n([0-9a-f]{8})\| one\\n/.exec(message) ?? [];
  expect(message).toContain(`\\n${mark}| \\\\[discord:#ops/alice] two`);
  await expect(add(sidecar, { name: "bad", what, check: "./nowhere.sh" })).rejects.toThrow(
    /^check: \.\/nowhere\.sh is not there/,
  );
  // The check's output is in the thread's context from now on.
  const marked = events.find((event) => event.type === "control" && event.op === "mark");
  expect(marked).toMatchObject({ why: "the check of the job loud", by: "job:loud" });
  const command = { type: "command", dir: "shop", command: "ls" } as const;
  await expect(
    add(sidecar, { name: "bad", what: { ...what, agent: { engine: "command" } }, check: "true" }),
  ).rejects.toThrow(/^check: the engine command can't be held/);
  await expect(add(sidecar, { name: "bad", what: command, check: "true" })).rejects.toThrow(
    /^check: is for an agent/,
  );
});

test("a check sees nothing of the sidecar's own, and leaves nothing behind", async () => {
  const boxed = await startSidecar({ ...BYPASS_CONFIG, sandbox: "state" });
  try {
    mkdirSync(join(boxed.reposDir, "shop"));
    const check = `ls ${boxed.stateDir}; cat ${boxed.stateDir}/token; touch here; sleep 60 & exit 7`;
    const what = { type: "agent", dir: "shop", prompt: script("look", { text: "ok" }) } as const;
    await add(boxed, { name: "curious", what, check });
    const [run] = await untilRuns(boxed, "curious", isOver);
    expect(run).toMatchObject({ status: "failed", reason: "check: exit code 7" });
    expect(run?.output).toMatch(/^cat: .*token.*No such file/);
    expect(run?.output).not.toContain("threadmux.db");
    expect(existsSync(join(boxed.reposDir, "shop", "here"))).toBe(true);
    expect(readdirSync(join(boxed.stateDir, "check-boxes"))).toEqual([]);
  } finally {
    await boxed.close();
  }
});

test("from the command line", async () => {
  const cli = await buildCli(sidecar);
  const prompt = script("look", { text: "ok" });
  const cron = ["--cron", "0 9 * * 1-5", "--zone", "Europe/Berlin"];
  const made = await cli.ok(
    "job",
    "add",
    "nightly",
    ...cron,
    "--agent",
    prompt,
    "--dir",
    "shop",
    "--max-usd",
    "0.5",
  );
  expect(made).toMatch(/^nightly: \w{3} \d+ \w{3} 09:00, in \d+ (min|h|days); /);
  expect(await cli.json("job", "list", "--json")).toMatchObject({
    jobs: expect.arrayContaining([expect.objectContaining({ name: "nightly", state: "active" })]),
  });
  const run = (await cli.ok("job", "run", "nightly")).trim();
  await untilRuns(sidecar, "nightly", isOver);
  expect(await cli.ok("job", "history", "nightly")).toMatch(new RegExp(`\tdone\t.*\t${run}\tby owner`));
  expect(await cli.ok("job", "pause", "nightly")).toMatch(/^nightly\tpaused\t/);
  expect(await cli.ok("job", "resume", "nightly")).toMatch(/^nightly\tactive\t/);
  await cli.ok("job", "remove", "nightly");
  for (const [args, problem] of [
    [["--cron", "0 0 9 * * 1", "--agent", "x"], /--cron: has 6 fields/],
    [["--cron", "0 9 * * *", "--zone", "Nowhere", "--agent", "x"], /--zone: "Nowhere" is no time zone/],
    [["--agent", "x"], /--when, --cron, --every, --at, --in, --on: missing/],
    [["--on", "turn_ended of 12", "--agent", "x"], /"turn_ended" must be the type of an event/],
    [["--in", "5m"], /--agent, --terminal, --command, --input: missing/],
    [["--in", "5m", "--input", "x"], /--thread: missing/],
    [["--in", "5m", "--agent", "x", "--dir", "/etc"], /--dir: .* outside/],
    [["--in", "5m", "--agent", "x", "--max-usd", "much"], /--max-usd: must be a number, or none/],
    [["--every", "10s", "--agent", "x"], /--every: .*too often/],
  ] as const) {
    const { code, stderr } = await cli.call(["job", "add", "bad", ...args]);
    expect(stderr).toMatch(problem);
    expect(code).toBe(2);
  }
});

test("metrics count runs by outcome, and the health says if a job is overdue", async () => {
  const metrics = await (
    await fetch(`${sidecar.url}/metrics`, { headers: { authorization: `Bearer ${sidecar.token}` } })
  ).text();
  expect(metrics).toMatch(/^threadmux_job_runs_total\{outcome="done"\} [1-9]/m);
  expect(metrics).toMatch(/^threadmux_job_runs_total\{outcome="failed"\} [1-9]/m);
  expect(metrics).toMatch(/^threadmux_job_late_seconds_count [1-9]/m);
  expect(await sidecar.client.getHealth()).toMatchObject({ jobs: { ok: true, overdue: 0 } });
});

test("what is wrong is refused with its field", async () => {
  const what = { type: "agent", dir: "shop", prompt: "hi" } as const;
  const refused = (request: Partial<JobRequest>) => add(sidecar, { name: "bad", what, ...request });
  await expect(refused({ when: { type: "words", words: "every 10s" } })).rejects.toThrow(
    /every 10s.*too often/,
  );
  await expect(refused({ when: { type: "cron", cron: "0 0 9 * * 1" } })).rejects.toThrow(
    /when\.cron: has 6 fields/,
  );
  await expect(refused({ what: { ...what, dir: "/etc" } })).rejects.toMatchObject({
    code: "invalid_directory",
  });
  await expect(refused({ what: { ...what, agent: { permissionMode: "nonsense" } } })).rejects.toThrow(
    /permissionMode/,
  );
  await expect(refused({ name: "build" })).rejects.toMatchObject({ code: "job_exists" });
  await expect(sidecar.client.call(jobs.get, { job: "bad" })).rejects.toMatchObject({ code: "not_found" });
});

test("the next three instants before it is made", async () => {
  const when = { type: "words", words: "every weekday at 9", zone: "Europe/Berlin" } as const;
  const preview = await sidecar.client.call(jobs.preview, {}, { body: { when } });
  expect(preview).toMatchObject({ when: { type: "cron", cron: "0 9 * * 1-5" } });
  expect(preview.next).toHaveLength(3);
  expect(preview.words).toMatch(/^\w{3} \d+ \w{3} 09:00, in \d+ (min|h|days); /);
});

test("a sidecar that is killed at its work goes on with each run, once", async () => {
  const env = { AGENT_PROGRAM: STAND_IN };
  const killed: SpawnedSidecar = await spawnSidecar(env);
  try {
    mkdirSync(join(killed.reposDir, "shop"));
    const prompt = script("work", { text: "done" });
    for (const name of ["a", "b", "c"]) {
      await add(killed, {
        name,
        what: { type: "agent", dir: "shop", prompt },
        when: { type: "every", seconds: 3_600 },
      });
      await killed.client.call(jobs.run, { job: name });
      await killed.kill9();
      await killed.start();
    }
    for (const job of ["a", "b", "c"]) {
      expect(await untilRuns(killed, job, isOver)).toMatchObject([{ status: "done" }]);
    }
    const threads = await killed.client.listThreads({ status: "all" });
    expect(threads).toHaveLength(3);
    for (const { threadId } of threads) {
      const events = await transcriptOf(killed, threadId);
      expect(events.filter(({ type }) => type === "user_message")).toHaveLength(1);
    }
  } finally {
    await killed.close();
  }
});
