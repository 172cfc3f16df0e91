/** Heartbeats: an agent says whether all is well, a person is told if not, and a monitor asks at the hook's door. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { buildCli } from "../support/cli.ts";
import { callTool, listTools } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let gate: string;
beforeAll(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, hooks: { host: "127.0.0.1", port: 0 } });
  mkdirSync(join(sidecar.reposDir, "shop"));
  gate = join(sidecar.reposDir, "gate");
});
afterAll(() => sidecar.close());

const monitor = async (job: string, method = "GET") => {
  const reply = await fetch(`${sidecar.hookUrl}/heartbeat/${job}`, { method });
  return [reply.status, await reply.json()];
};
const told = async () =>
  (await new VmJobs(sidecar.client).listUntold()).map(({ kind, text }) => [kind, text]);
const runs = () => new VmJobs(sidecar.client).listRuns("beat", 50);
const report = (threadId: string, input: object) => callTool(sidecar, { threadId, name: "report", input });

/** @returns its thread, in which the agent is at work until the gate opens */
async function begin(): Promise<string> {
  rmSync(gate, { force: true });
  const run = await new VmJobs(sidecar.client).run("beat");
  const [first] = await untilValue("the run", runs, ([one]) => one?.run === run && one.status === "started");
  return first?.threadId ?? "";
}

async function end(): Promise<void> {
  writeFileSync(gate, "");
  await untilValue("its end", runs, ([one]) => one !== undefined && one.endedAt !== null);
}

test("what is not well is told once, what is well to nobody, and a monitor hears of both", async () => {
  expect(await monitor("beat")).toEqual([404, expect.objectContaining({ code: "not_found" })]);
  const cli = await buildCli(sidecar);
  const prompt = script("how is it?", { text: "hm", waitFor: gate });
  const what = ["--agent", prompt, "--dir", "shop"];
  await cli.ok("job", "add", "beat", "--every", "30m", ...what, "--heartbeat", "--hours", "00:00-23:59");
  const wrong = ["job", "add", "bad", "--every", "30m", ...what, "--hours", "8-22"];
  expect((await cli.call(wrong)).stderr).toMatch(/--hours: must be a time such as 08:30/);
  expect(await monitor("beat")).toEqual([200, { ok: true }]);
  expect((await monitor("beat", "POST"))[0]).toBe(405);

  const first = await begin();
  expect(await listTools(sidecar, first)).toContain("report");
  expect(await report(first, { ok: false, text: "the disk is **full**" })).toMatch(/a person is told/);
  expect(await report(first, { ok: false, text: "the disk is **full**" })).toMatch(/a person is told/);
  expect(await report(first, { ok: true })).toMatch(/have reported/);
  expect(await report(first, { ok: "no" })).toMatch(/input is wrong/);
  expect(await told()).toEqual([["report", "⚠️ the disk is **full**"]]);
  expect(await monitor("beat")).toEqual([503, { ok: false }]);
  await end();
  expect(await report(first, { ok: true })).toMatch(/in no run of a job now/);

  expect(await report(await begin(), { ok: true, text: "HEARTBEAT_OK" })).toMatch(/^Noted/);
  await end();
  expect((await runs())[0]).toMatchObject({ status: "done", report: { ok: true, text: "HEARTBEAT_OK" } });
  expect(await told()).toHaveLength(1);
  expect(await monitor("beat")).toEqual([200, { ok: true }]);

  await begin();
  await end();
  expect(await told()).toEqual([expect.anything(), ["report", "⚠️ it ended without a report"]]);
  expect((await monitor("beat"))[0]).toBe(503);
});
