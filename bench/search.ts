/**
 * Measures the search of memory over many long transcripts beside `grep` over the same files, and keys' echoes while the
 * index is made of them in the background.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { threadPath } from "../shared/agent/paths.ts";
import { MemoryClient } from "../shared/memory-client.ts";
import { seededRandom } from "../shared/random.ts";
import { clientKeyboard, keyEcho } from "./keys.ts";
import { percentile, type Row, ratioRow, times, withSidecar } from "./measure.ts";

const run = promisify(execFile);
const SOME_WORDS = 20_000;
const WORDS_A_LINE = 12;

export interface SearchOptions {
  transcripts: number;
  /** The lines of one transcript. */
  lines: number;
  /** So many of the transcripts are indexed while keys are measured. */
  first: number;
  keys: number;
  warmUp: number;
  searches: number;
}

export const SEARCHED: SearchOptions = {
  ...{ transcripts: 500, lines: 10_000, first: 100 },
  ...{ keys: 400, warmUp: 3_000, searches: 200 },
};
export const SEARCHED_SHORTLY: SearchOptions = {
  ...{ transcripts: 5, lines: 1_000, first: 3 },
  ...{ keys: 20, warmUp: 20, searches: 10 },
};

export async function rowSearch(options: SearchOptions): Promise<Row[]> {
  const { transcripts, lines, first, keys, warmUp, searches } = options;
  return withSidecar({}, async (measured) => {
    const { client, open, stateDir } = measured;
    const memory = new MemoryClient(client);
    const random = seededRandom(7);
    const word = () => `word${Math.floor(SOME_WORDS * random() ** 2)}`;
    const isBehind = async () => (await memory.search({ query: word(), where: "transcripts" })).isBehind;
    await open("key", "stty raw -echo; cat");
    await sleep(300);
    const keyboard = clientKeyboard(measured, "key");
    await keyEcho(measured, "key", warmUp, keyboard);
    const quiet = await keyEcho(measured, "key", keys, keyboard);
    for (let n = 0; n < first; n++) write(stateDir, n, lines, word);
    const startedAt = performance.now();
    await isBehind();
    const beside = await keyEcho(measured, "key", keys, keyboard);
    const wasBehind = await isBehind();
    while (await isBehind()) await sleep(200);
    const seconds = (performance.now() - startedAt) / 1_000;
    for (let n = first; n < transcripts; n++) write(stateDir, n, lines, word);
    await sleep(1_500); // the index looks for what is new at most once a second
    while (await isBehind()) await sleep(500);
    const ours = await times(searches, async () => {
      await memory.search({ query: `${word()} ${word()}`, where: "transcripts" });
    });
    const grep = await times(3, async () => {
      const folder = join(stateDir, "threads");
      await run("grep", ["-rlwF", word(), folder], { maxBuffer: 64 * 1024 * 1024 }).catch(() => undefined);
    });
    const count = first * lines;
    const name = `search in ${transcripts} transcripts of ${lines} lines`;
    const p95 = percentile(ours, 95);
    return [
      ratioRow(
        `key → echo while ${count} lines are indexed, p95 (ms)`,
        percentile(beside, 95),
        percentile(quiet, 95),
        { atMost: 2 },
      ),
      {
        name: `until ${count} lines are in the index (s)${wasBehind ? "" : ", sooner than the keys"}`,
        ...{ ours: seconds, baseline: undefined, isMet: true, bar: "" },
      },
      {
        name: `${name}, p95 (ms), beside grep`,
        ...{ ours: p95, baseline: percentile(grep, 50), isMet: p95 <= 50, bar: "≤ 50 ms" },
      },
    ];
  });
}

function write(stateDir: string, n: number, lines: number, word: () => string): void {
  const folder = join(stateDir, "threads", `said-${n}`);
  mkdirSync(folder, { recursive: true });
  const ts = new Date().toISOString();
  const text = () => Array.from({ length: WORDS_A_LINE }, word).join(" ");
  const all = Array.from({ length: lines }, (_, at) => {
    const event = {
      seq: at + 1,
      id: `r${at + 1}.0`,
      ts,
      type: "agent_message",
      messageId: `m${at}`,
      at: "u",
    };
    return JSON.stringify({ ...event, text: text() });
  });
  writeFileSync(threadPath(folder, "transcript"), `${all.join("\n")}\n`);
}
