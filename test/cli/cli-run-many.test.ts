/** Many `threadmux run` at once over few places, against a sidecar of its own process as people have it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN, script } from "../support/agents.ts";
import { buildCli, type Cli, type CliResult } from "../support/cli.ts";
import { inFull } from "../support/faults.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";

const PLACES = inFull(5, 2);
const RUNS = inFull(100, 12);

let sidecar: SpawnedSidecar;
let cli: Cli;
beforeAll(async () => {
  sidecar = await spawnSidecar({ AGENT_PROGRAM: STAND_IN, MAX_AGENTS: String(PLACES) });
  mkdirSync(join(sidecar.reposDir, "shop"));
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

const isWell = (i: number) => i % 4 !== 0;

function run(i: number): Promise<CliResult> {
  const words = isWell(i) ? { text: `answer ${i}` } : { error: { status: 400, message: `fault ${i}` } };
  return cli.run(["run", "--agent", "shop", "--", script("go", words)]);
}

function isRight({ code, stdout, stderr }: CliResult, i: number): boolean {
  if (isWell(i)) return code === 0 && stdout === `answer ${i}\n`;
  return code === 1 && stdout === "" && stderr.includes(`fault ${i}`);
}

test(`${RUNS} at once over ${PLACES} places: all end, with the right codes, and no thread is open`, {
  timeout: inFull(900_000, 120_000),
}, async () => {
  const results = await Promise.all(Array.from({ length: RUNS }, (_, i) => run(i)));
  expect(results.filter((result, i) => !isRight(result, i))).toEqual([]);
  expect(await sidecar.client.listThreads()).toEqual([]);
});
