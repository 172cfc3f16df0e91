/** Keeping the state of a large work tree, as before each turn, beside git's own way of it with an index of its own. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WorkTree } from "../../shared/git/work-tree.ts";
import type { Row } from "../measure.ts";

const ROUNDS = 9;
const CHANGED = 10;
const MAX_MS = 300;

export async function rowUndo(folder: string, files: number): Promise<Row[]> {
  const root = join(folder, "work-tree");
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: folder };
  const git = (indexFile: string, ...args: string[]) =>
    execFileSync("git", args, { cwd: root, env: { ...env, GIT_INDEX_FILE: indexFile } });
  const fileOf = (i: number) => join(root, `d${i % 100}`, `f${i}`);
  for (let i = 0; i < 100; i++) mkdirSync(join(root, `d${i}`), { recursive: true });
  for (let i = 0; i < files; i++) writeFileSync(fileOf(i), `line of ${i}\n`.repeat(50));
  const index = join(folder, "baseline-index");
  git(index, "init", "-q");
  git(join(root, ".git/index"), "add", "-A"); // as if committed: the repository has the files
  const baseline = () => {
    git(index, "add", "-A");
    git(index, "write-tree");
  };
  const tree = await WorkTree.open(root, join(folder, "own"), env);
  const first = await timed(() => tree.keep());
  const firstBaseline = await timed(async () => baseline());
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < CHANGED; i++) writeFileSync(fileOf(i), `ours ${round}\n`);
    ours.push(await timed(() => tree.keep()));
    for (let i = 0; i < CHANGED; i++) writeFileSync(fileOf(i), `baseline ${round}\n`);
    theirs.push(await timed(async () => baseline()));
  }
  const what = `the state of ${files} files`;
  const ms = median(ours);
  return [
    {
      name: `${what}, ${CHANGED} changed (ms)`,
      ours: ms,
      baseline: median(theirs),
      isMet: ms <= MAX_MS,
      bar: "≤ 300 ms",
    },
    // Once a thread and work tree.
    { name: `${what}, the first (ms)`, ours: first, baseline: firstBaseline, isMet: true, bar: "" },
  ];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
