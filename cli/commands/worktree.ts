import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { agents } from "../../shared/protocol/agents.ts";
import type { MergeWorktreeReply } from "../../shared/worktree-api.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findAgent } from "../find-thread.ts";

interface WorktreeOptions {
  merge?: boolean;
  rebase?: boolean;
  remove?: boolean;
  force?: boolean;
}

export function addWorktree(program: Command, act: Act): void {
  program
    .command("worktree")
    .summary("what is in an agent's worktree; merge it, rebase it, or remove it")
    .description(
      "print where an agent's worktree is and what would be lost with it; an ended thread's worktree stays until it is removed",
    )
    .argument("<thread>", "the agent")
    .option(
      "--merge",
      "merge its commits into the branch that it left; if that can't be done whole, nothing changes",
    )
    .option(
      "--rebase",
      "make its commits anew on top of the branch that it left, which gets them; the worktree goes on from there",
    )
    .option(
      "--remove",
      "remove it, unless files in it are not committed; a branch with commits of its own stays",
    )
    .option(
      "--force",
      "with --remove: also if files are not committed, or commits on no branch; they are lost",
    )
    .addHelpText(
      "after",
      examples("threadmux worktree 12", "threadmux worktree 12 --merge", "threadmux worktree 12 --remove"),
    )
    .action((thread: string, options: WorktreeOptions, command: Command) =>
      act(command, (context) => worktree(context, thread, options)),
    );
}

async function worktree(context: Context, wanted: string, options: WorktreeOptions): Promise<number> {
  const client = context.client();
  const { threadId } = await findAgent(client, wanted);
  const chosen = (["merge", "rebase", "remove"] as const).filter((name) => options[name]);
  if (chosen.length > 1)
    throw new AppError("invalid_request", `--${chosen[0]}: not together with --${chosen[1]}`);
  if (options.merge || options.rebase) {
    const how = options.rebase ? "rebase" : "merge";
    const reply = await client.call(agents.mergeWorktree, { id: threadId }, { body: { how } });
    if (context.isJson) await context.out.json(reply);
    else await context.out.line(mergedText(reply));
    return EXIT.ok;
  }
  if (options.remove) {
    const reply = await client.removeWorktree(threadId, { force: options.force ?? false });
    if (context.isJson) await context.out.json(reply);
    else if (reply.branch !== null)
      await context.note(`the branch ${reply.branch} stays: it has commits of its own`);
    return EXIT.ok;
  }
  const found = await client.getWorktree(threadId);
  if (context.isJson) {
    await context.out.json(found);
    return EXIT.ok;
  }
  await context.out.line(found.path);
  await context.note(
    `on ${found.branch}: ${count(found.fileCount, "file")} not committed, ${count(found.commits, "commit")} of its own`,
  );
  return EXIT.ok;
}

function mergedText({
  into,
  commit,
  commits,
  isFastForward,
  isCheckedOut,
  rebasedFrom,
  hooks,
}: MergeWorktreeReply): string {
  const made = rebasedFrom === null ? "by a merge commit" : `rebased, before ${rebasedFrom.slice(0, 12)}`;
  const how = isFastForward ? (commits === 1 ? "as it is" : "as they are") : made;
  const files = isCheckedOut ? "" : "; it is checked out nowhere, so no files have changed";
  const unrun = hooks.length === 0 ? "" : `; not run: ${hooks.join(", ")}`;
  return cleanLine(`${count(commits, "commit")} in ${into} ${how}, ${commit.slice(0, 12)}${files}${unrun}`);
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
