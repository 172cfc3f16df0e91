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
  const { env, fileOf, git, open, baseline } = makeTree(folder, "known", files);
  git(".git/index", "add", "-A"); // as if committed: the repository has the files
  const tree = await open(env);
  const first = await timed(() => tree.keep());
  const firstBaseline = await timed(async () => baseline());
  // Nobody has added these: the repository has to take them all.
  const ownNew = makeTree(folder, "new", files);
  const treeOfNew = await ownNew.open(env);
  const firstNew = await timed(() => treeOfNew.keep());
  const theirNew = makeTree(folder, "new-baseline", files);
  const firstNewBaseline = await timed(async () => theirNew.baseline());
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
    {
      name: `${what} that are new to git, the first (ms)`,
      ours: firstNew,
      baseline: firstNewBaseline,
      isMet: firstNew <= MAX_MS,
      bar: "≤ 300 ms",
    },
  ];
}

/** A repository with files that nobody has added. */
function makeTree(folder: string, name: string, files: number) {
  const root = join(folder, name);
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: folder };
  const git = (indexFile: string, ...args: string[]) =>
    execFileSync("git", args, { cwd: root, env: { ...env, GIT_INDEX_FILE: join(root, indexFile) } });
  const fileOf = (i: number) => join(root, `d${i % 100}`, `f${i}`);
  for (let i = 0; i < 100; i++) mkdirSync(join(root, `d${i}`), { recursive: true });
  for (let i = 0; i < files; i++) writeFileSync(fileOf(i), `line of ${i}\n`.repeat(50));
  git(".git/index", "init", "-q");
  const baseline = () => {
    git(".git/baseline-index", "add", "-A");
    git(".git/baseline-index", "write-tree");
  };
  const open = (env: Record<string, string>) => WorkTree.open(root, join(folder, `${name}-own`), env);
  return { env, fileOf, git, open, baseline };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
