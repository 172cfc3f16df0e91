/**
 * Measures the relay against local Discord with its strict limits: npm run bench:relay [-- --smoke] [-- --only ROW] [-- --help].
 * Prints a table and writes bench/results/relay.json.
 *
 * Relay, sidecar and local Discord (here) are processes of their own. Each line carries the time at which the
 * program printed it; it is visible when local Discord has applied the message that holds it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { bundlePrograms } from "../test/support/programs.ts";
import { beginRun } from "../test/support/reaper.ts";
import { parseChoice, tellProgress } from "./choice.ts";
import { closedBuckets } from "./relay/closed.ts";
import { floods, lostChannels } from "./relay/fair.ts";
import type { Figure } from "./relay/figures.ts";
import { floodBeside } from "./relay/flood.ts";
import { hostile } from "./relay/hostile.ts";
import { faults, kills } from "./relay/kills.ts";
import type { Row } from "./relay/load.ts";
import { memory } from "./relay/memory.ts";
import { restart } from "./relay/restart.ts";
import { pictures } from "./relay/screenshots.ts";
import { sixtyThreads, tenThreads } from "./relay/steady.ts";
import { oneTurn, tenTurns } from "./relay/turns.ts";

const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));

const rows: Record<string, Row> = {
  ten: tenThreads,
  sixty: sixtyThreads,
  "flood-beside": floodBeside(9, 50),
  flood: floodBeside(0, 50),
  "small-flood": floodBeside(0, 4),
  floods,
  "lost-channels": lostChannels,
  closed: closedBuckets,
  hostile,
  screenshots: pictures,
  kills,
  faults,
  restart,
  memory,
  turn: oneTurn,
  "ten-turns": tenTurns,
};
/** Not in the short form, which takes under a minute: they have short forms of their own among the tests. */
const LONG = ["closed", "kills", "faults"];

const choice = parseChoice("bench:relay", Object.keys(rows), process.argv.slice(2));
const { isSmoke } = choice;
beginRun();
await bundlePrograms();
const figures: Figure[] = [];
for (const [name, measure] of Object.entries(rows)) {
  if (!choice.names.includes(name)) continue;
  if (isSmoke && choice.names.length > 1 && LONG.includes(name)) continue;
  tellProgress(name, choice);
  for (const figure of await measure({ pick: (full, smoke) => (isSmoke ? smoke : full), seed })) {
    figures.push(figure);
    const { row, value, bar, isMet } = figure;
    const shown = Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 0);
    const met = bar === "" ? "" : isMet ? "met" : "MISSED";
    console.log(
      `${row.padEnd(28)} ${figure.figure.padEnd(34)} ${shown.padStart(8)}  ${bar.padEnd(8)} ${met}`,
    );
  }
}
mkdirSync(new URL("./results/", import.meta.url), { recursive: true });
const file = new URL("./results/relay.json", import.meta.url);
const report = {
  at: new Date().toISOString(),
  node: process.version,
  load: loadavg(),
  isSmoke,
  seed,
  figures,
};
writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
const missed = figures.filter(({ isMet }) => !isMet);
console.log(missed.length === 0 ? "all bars are met" : `${missed.length} bars are missed; seed ${seed}`);
// A smoke run is too short to be judged by its times; that every text is right holds in it too.
const isWrong = (isSmoke ? missed.filter(({ figure }) => figure.startsWith("threads w")) : missed).length > 0;
process.exit(isWrong ? 1 : 0);
