/** Jobs whose agents a directive makes, with real agents' threads: what the threads are told and may do, and the command line. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { jobs } from "../../shared/protocol/jobs.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let cli: Cli;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
  mkdirSync(join(sidecar.stateDir, "directives"));
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

function put(text: string): void {
  const inputs = "inputs: { depth: { type: number }, why: { type: text } }";
  writeFileSync(
    join(sidecar.stateDir, "directives", "critic.md"),
    `---\nname: critic\ndescription: d\nmodel: sonnet\nthreadmux: { limits: { spendUsd: 0.2, turns: 2 }, ${inputs} }\n---\n${text} {{depth}} deep.`,
  );
}

/** Runs the job by hand, and waits for the run's end. */
async function run(job: string) {
  const { run: name } = await sidecar.client.call(jobs.run, { job });
  return untilValue(
    `the end of ${name}`,
    async () =>
      (await sidecar.client.call(jobs.listRuns, { job }, { query: { limit: "50" } })).runs.find(
        ({ run }) => run === name,
      ),
    (found) => found?.endedAt !== null && found !== undefined,
  );
}
const configOf = (id: string) =>
  JSON.parse(readFileSync(threadPath(join(sidecar.stateDir, "threads", id), "config"), "utf8")).agent;

test("at the command line: made with typed inputs, paused by a change with a sentence, and resumed with the new text", async () => {
  put("Doubt,");
  const prompt = script("Look", { text: "Looked." });
  const add = (name: string, ...more: string[]) =>
    cli.run(["job", "add", name, "--every", "1d", "--agent", prompt, "--dir", "shop", ...more]);
  const whole = ["--as", "critic", "--with", "depth=3", "--with", "why=some words"];
  expect(await add("each", ...whole)).toMatchObject({ code: 0 });
  expect(await add("one", ...whole, "--thread", "one")).toMatchObject({ code: 0 });
  for (const [options, words] of [
    [["--as", "nobody"], '--as: there is no directive "nobody"'],
    [["--as", "critic", "--with", "depth=x"], "--with.depth: must be a number"],
    [["--as", "critic", "--with", "depth"], '--with: "depth" must be <name>=<value>'],
    [["--with", "depth=3"], "--with: are a directive's"],
  ] as const)
    expect((await add("no", ...options)).stderr).toContain(words);
  expect(
    (await cli.run(["job", "add", "no", "--every", "1d", "--command", "ls", "--as", "critic"])).stderr,
  ).toContain("--as: is for --agent");

  const first = await run("each");
  expect(first).toMatchObject({ status: "done" });
  const { threadId } = first ?? {};
  const thread = await sidecar.client.getThread(threadId ?? "");
  expect(thread).toMatchObject({ directive: "critic", name: expect.stringMatching(/^critic-\d+$/) });
  expect(configOf(threadId ?? "")).toMatchObject({
    ...{ systemPrompt: "Doubt, 3 deep.", model: "sonnet", limits: { spendUsd: 0.2, seconds: 600, turns: 2 } },
    directive: { name: "critic", inputs: { depth: 3, why: "some words" } },
  });
  const ones = [await run("one"), await run("one"), await run("one")];
  expect(ones.map((one) => one?.status)).toEqual(["done", "done", "done"]); // two turns are allowed a run
  expect(new Set(ones.map((one) => one?.threadId)).size).toBe(1);

  put("Doubt much,");
  for (const name of ["each", "one"]) {
    expect(await run(name)).toMatchObject({ status: "skipped", threadId: null });
    const line = (await cli.run(["job", "list"])).stdout
      .split("\n")
      .find((one) => one.startsWith(`${name}\t`));
    expect(line).toMatch(/\tpaused\t.*Its directive critic has changed: .*critic\.md .*resume the job/);
    expect(await cli.run(["job", "resume", name])).toMatchObject({ code: 0 });
    const next = await run(name);
    expect(next).toMatchObject({ status: "done" });
    expect(configOf(next?.threadId ?? "").systemPrompt).toBe("Doubt much, 3 deep.");
  }
});
