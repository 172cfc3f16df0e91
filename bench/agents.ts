/**
 * Measures agent threads beside the naive way, which runs the agent's program once a message: npm run bench:agents
 * [-- --smoke] [-- --only ROW] [-- --help]. The stand-in is the agent in both, or the real one, whose program THREADMUX_CLAUDE
 * names. Writes bench/results/agents.json.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { makeFolder } from "../test/support/folders.ts";
import { bundlePrograms } from "../test/support/programs.ts";
import { beginRun } from "../test/support/reaper.ts";
import { type BenchAgent, startAgent } from "./agents/agent.ts";
import { rowDiscord } from "./agents/discord.ts";
import { rowEngines } from "./agents/engines.ts";
import { rowHearing } from "./agents/hearing.ts";
import { rowIdle, rowRunner } from "./agents/idle.ts";
import { rowMessages } from "./agents/messages.ts";
import { rowOpenAsk } from "./agents/open-ask.ts";
import { rowRebuild } from "./agents/rebuild.ts";
import { rowUndo } from "./agents/undo.ts";
import { parseChoice, tellProgress } from "./choice.ts";
import { formatRow, type Row } from "./measure.ts";

const NAMES = [
  "messages",
  "discord",
  "rebuild",
  "undo",
  "idle",
  "open-ask",
  "hearing",
  "runner",
  "engines",
] as const;
type Name = (typeof NAMES)[number];
const choice = parseChoice("bench:agents", NAMES, process.argv.slice(2));
const { isSmoke } = choice;
const pick = <T>(full: T, smoke: T): T => (isSmoke ? smoke : full);
beginRun();
const folder = makeFolder().path;
const events = pick(100_000, 5_000);

const rows: Record<Name, (agent: BenchAgent) => Promise<Row[]>> = {
  messages: (agent) => rowMessages({ agent, folder, messages: pick(20, 3), events }),
  discord: (agent) =>
    rowDiscord(agent, {
      agents: pick(10, 2),
      terminals: pick(10, 2),
      events: pick(60, 30),
      asks: pick(20, 2),
    }),
  rebuild: () => rowRebuild(folder, events),
  undo: (agent) => rowUndo(agent, folder, pick(10_000, 500)),
  idle: (agent) => rowIdle(agent, pick(200, 3), pick(30, 2)),
  "open-ask": (agent) => rowOpenAsk(agent, pick(200, 8)),
  hearing: (agent) => rowHearing(agent, folder, pick(40, 3)),
  runner: (agent) => rowRunner(agent, pick(5, 1), pick(20_000, 500)),
  engines: () =>
    rowEngines({ folder, messages: pick(20, 3), steps: pick(1_000, 40), settleMs: pick(10_000, 500) }),
};

await bundlePrograms();
const agent = await startAgent();
try {
  console.log(
    `${"".padEnd(56)} ${"ours".padStart(10)} ${"baseline".padStart(10)} ${"ratio".padStart(9)}  bar`,
  );
  const results: Row[] = [];
  for (const [name, measure] of Object.entries(rows)) {
    if (!choice.names.includes(name)) continue;
    tellProgress(name, choice);
    const measured = await measure(agent);
    results.push(...measured);
    for (const row of measured) console.log(formatRow(row));
  }
  mkdirSync(new URL("./results/", import.meta.url), { recursive: true });
  const report = {
    at: new Date().toISOString(),
    node: process.version,
    agent: agent.name,
    load: loadavg(),
    isSmoke,
    rows: results,
  };
  writeFileSync(new URL("./results/agents.json", import.meta.url), `${JSON.stringify(report, null, 2)}\n`);
  const missed = results.filter((row) => !row.isMet).length;
  console.log(missed === 0 ? "all bars are met" : `${missed} of ${results.length} bars are missed`);
  // A smoke run only shows that everything can be measured: its figures are too short to be judged.
  process.exitCode = isSmoke || missed === 0 ? 0 : 1;
} finally {
  await agent.close();
  rmSync(folder, { recursive: true, force: true });
}
