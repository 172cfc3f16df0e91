/** Keeping the state of a large work tree, as before each turn, beside git's own way of it with an index of its own. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WorkTree } from "../../shared/git/work-tree.ts";
import { until } from "../../test/support/wait.ts";
import type { Row } from "../measure.ts";
import { answer, type BenchAgent } from "./agent.ts";
import { folderOf, startAgents, untilCold } from "./threads.ts";

const ROUNDS = 9;
const CHANGED = 10;
const MAX_MS = 300;
const FIRST_MESSAGES = 5;

export async function rowUndo(agent: BenchAgent, folder: string, files: number): Promise<Row[]> {
  return [...(await rowStates(folder, files)), await rowFirstMessage(agent, files)];
}

async function rowStates(folder: string, files: number): Promise<Row[]> {
  const { env, fileOf, git, open, baseline } = makeTree(folder, "known", files);
  git(".git/index", "add", "-A");
  const who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"];
  git(".git/index", ...who, "commit", "-qm", "all");
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
    // Once a thread and work tree, while the engine and its model begin with the message: see the last row.
    { name: `${what}, the first (ms)`, ours: first, baseline: firstBaseline, isMet: true, bar: "" },
    {
      name: `${what} that are new to git, the first (ms)`,
      ours: firstNew,
      baseline: firstNewBaseline,
      isMet: true,
      bar: "",
    },
  ];
}

/** How long a thread's first message takes to the model, beside one in an empty repository. */
async function rowFirstMessage(agent: BenchAgent, files: number): Promise<Row> {
  const sidecar = await startAgents(agent, 1);
  const [many, none]: [number[], number[]] = [[], []];
  try {
    for (let i = 0; i < FIRST_MESSAGES; i++) {
      for (const [taken, count] of [
        [none, 0],
        [many, files],
      ] as const) {
        const threadId = `first-${count}-${i}`;
        makeTree(sidecar.reposDir, threadId, count);
        const startedAt = performance.now();
        const command = answer("first");
        const thread = { threadId, type: "agent" as const, dir: threadId, command };
        const created = sidecar.client.createThread(thread);
        const isAsked = () =>
          existsSync(folderOf(sidecar, threadId)) && agent.countRequests(folderOf(sidecar, threadId)) > 0;
        await until("the model to be asked", isAsked, { timeoutMs: 60_000, intervalMs: 1 });
        taken.push(performance.now() - startedAt);
        await created;
        await untilCold(sidecar, threadId);
      }
    }
  } finally {
    await sidecar.close();
  }
  const [ours, baseline] = [median(many), median(none)];
  return {
    name: `a thread's first message → model, in ${files} new files (ms)`,
    ours,
    baseline,
    isMet: ours - baseline <= MAX_MS,
    bar: "≤ + 300 ms",
  };
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
