/** Makes a branch's commits anew on top of another, among git's objects alone. */
import { AppError } from "../errors.ts";
import { mergeTrees } from "./merge-trees.ts";
import { type GitPlace, runGit } from "./run-git.ts";

const MAX_COMMITS = 300;
const MAX_COMMIT_BYTES = 1024 * 1024;

export interface Rebased {
  /** The newest of the commits that were made. */
  commit: string;
  /** How many were made; those that change nothing there any more are left out. */
  made: number;
}

/**
 * @param tip the commits are those that it has and `onto` lacks
 * @throws AppError `merge_conflict`, `unsupported` if they are too many, or some are merges or begin a history
 */
export async function rebase(
  place: GitPlace,
  { tip, onto, nowMs }: { tip: string; onto: string; nowMs: number },
): Promise<Rebased> {
  const args = ["rev-list", "--reverse", "--topo-order", "--parents", `--max-count=${MAX_COMMITS + 1}`];
  const listed = (await runGit(place, [...args, tip, "--not", onto])).toString().trim();
  const commits = listed.split("\n").map((line) => line.split(" "));
  if (commits.length > MAX_COMMITS)
    throw new AppError(
      "unsupported",
      `More than ${MAX_COMMITS} commits are not rebased; merge them instead.`,
    );
  const merges = commits.filter(([, ...parents]) => parents.length !== 1).length;
  if (merges > 0) {
    const what = merges === 1 ? "One of its commits is a merge" : `${merges} of its commits are merges`;
    throw new AppError("unsupported", `${what}, which a rebase would lose; merge the branch instead.`);
  }
  let head = onto;
  let made = 0;
  for (const [commit = "", parent = ""] of commits) {
    const next = await pick(place, { commit, parent, head, nowMs });
    if (next === undefined) continue;
    head = next;
    made++;
  }
  return { commit: head, made };
}

/** @returns undefined if all that it changed is there already */
async function pick(
  place: GitPlace,
  { commit, parent, head, nowMs }: { commit: string; parent: string; head: string; nowMs: number },
): Promise<string | undefined> {
  const [treeOfHead, treeOfParent, treeOfCommit] = await Promise.all(
    [head, parent, commit].map(async (one) =>
      (await runGit(place, ["rev-parse", `${one}^{tree}`])).toString().trim(),
    ),
  );
  // Git 2.39 takes no base for a merge of trees: a commit with the head's files upon the parent has it as its base.
  const beside = await makeCommit(place, [`tree ${treeOfHead}`, `parent ${parent}`, ...NOBODY], "");
  const text = (await runGit(place, ["cat-file", "commit", commit], { maxBytes: MAX_COMMIT_BYTES })).toString(
    "latin1",
  );
  const end = text.indexOf("\n\n");
  const [headers, message] = [text.slice(0, end), text.slice(end + 2)];
  const subject = Buffer.from(message.slice(0, message.indexOf("\n") >>> 0), "latin1").toString("utf8");
  const tree = await mergeTrees(place, beside, commit, {
    where: ` at the commit ${JSON.stringify(subject.slice(0, 80))}`,
    instead: "Rebase or merge in the worktree first",
  });
  if (tree === treeOfHead && treeOfCommit !== treeOfParent) return undefined;
  return makeCommit(place, remade(headers, { tree, head, nowMs }), message);
}

const NOBODY = [
  "author threadmux <threadmux@localhost> 0 +0000",
  "committer threadmux <threadmux@localhost> 0 +0000",
];

/** Author and encoding stay; a signature would not hold any more. */
function remade(
  headers: string,
  { tree, head, nowMs }: { tree: string; head: string; nowMs: number },
): string[] {
  const lines = headers.split("\n");
  const author =
    lines.find((line) => line.startsWith("author ")) ?? "author threadmux <threadmux@localhost> 0 +0000";
  const who = /^committer ([^\n]*>) \d+ [+-]\d{4}$/m.exec(headers)?.[1] ?? "threadmux <threadmux@localhost>";
  const encoding = lines.filter((line) => line.startsWith("encoding "));
  const committer = `committer ${who} ${Math.floor(nowMs / 1_000)} +0000`;
  return [`tree ${tree}`, `parent ${head}`, author, committer, ...encoding];
}

/** @param lines, message one character a byte */
export async function makeCommit(
  place: GitPlace,
  lines: readonly string[],
  message: string,
): Promise<string> {
  const input = Buffer.from(`${lines.join("\n")}\n\n${message}`, "latin1");
  const made = await runGit(place, ["hash-object", "-t", "commit", "-w", "--stdin"], { input });
  return made.toString().trim();
}
