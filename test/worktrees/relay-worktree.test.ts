/** An agent in a worktree, from Discord: made, looked at while it works, told of at its end, kept and removed. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BYPASS_CONFIG, script, untilStatus } from "../support/agents.ts";
import { startForTest } from "../support/relay.ts";
import { until } from "../support/wait.ts";
import { git } from "../support/worktrees.ts";

test("a worktree is made by an option, told of when its agent ends, and removed only as it was shown", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: BYPASS_CONFIG });
  const { driver, channelId } = all.discord;
  const repository = join(all.sidecar.reposDir, "shop");
  mkdirSync(repository);
  const gitIn = (place: string, ...args: string[]) =>
    execFileSync("git", ["-C", place, "-c", "user.name=a", "-c", "user.email=a@b", ...args]).toString();
  const inRepository = (...args: string[]) => gitIn(repository, ...args);
  inRepository("init", "-q");
  inRepository("commit", "-q", "--allow-empty", "-m", "first");
  const use = (name: string, options = {}) => driver.command(all.you, channelId, name, options);
  const reply = await use("agent", {
    dir: "shop",
    worktree: true,
    prompt: script("Fix", { text: "Fixed." }),
  }).reply();
  const threadId = /<#(\d+)>/.exec(reply.content)?.[1] ?? "";
  await untilStatus(all.sidecar, threadId, "idle");
  const tree = join(all.sidecar.stateDir, "worktrees", threadId);
  const look = () => use("thread worktree", { thread: "#1" });

  writeFileSync(join(tree, "one.txt"), "1");
  const open = await look().reply();
  expect(open.content).toMatch(
    /^\*\*#1\*\* <#\d+> has a worktree, on `threadmux\/1-[\w-]+` \(1 file not committed, 0 commits of its own\)\.\n- `one\.txt`\nIt can be removed once the thread has ended\.$/,
  );
  expect(open.buttons).toEqual([]);
  // Merged as it is, or not at all.
  const merge = () => use("thread worktree", { thread: "#1", merge: true });
  expect((await merge().reply()).content).toBe(
    '⚠️ In the worktree one file is not committed; a merge takes commits alone, so commit them first: "one.txt".',
  );
  await use("kill", { thread: threadId }).reply();
  const stays =
    /Its worktree stays, on `threadmux\/1-.*\(1 file not committed.*: `\/thread worktree` keeps or removes it\./;
  await until("its last words", () => stays.test(driver.text(threadId)));

  const asked = look();
  const shown = await asked.reply();
  expect(shown.buttons.map(({ label }) => label)).toEqual(["Keep", "Remove it, and lose the file"]);
  rmSync(join(tree, "one.txt"));
  writeFileSync(join(tree, "two.txt"), "2");
  driver.press(all.you, shown.id, shown.buttons[1]?.customId ?? "");
  await until("what came since", () => asked.find()?.content.includes("- `two.txt`"));
  expect(existsSync(join(tree, "two.txt"))).toBe(true);
  driver.press(all.you, shown.id, asked.find()?.buttons[0]?.customId ?? "");
  await until("the answer", () => asked.find()?.content === "The worktree stays.");
  gitIn(tree, "add", "two.txt");
  gitIn(tree, "commit", "-qm", "second");
  const merged = await merge().reply();
  const into = inRepository("branch", "--show-current").trim();
  expect(merged.content).toMatch(
    new RegExp(
      `^🔀 1 commit is in \`${into}\` now\\.\\n\\*\\*#1\\*\\* .*\\(0 files not committed, 0 commits of its own\\)\\.$`,
    ),
  );
  expect(merged.buttons.map(({ label }) => label)).toEqual(["Keep", "Remove"]);
  expect(existsSync(join(repository, "two.txt"))).toBe(true);
  writeFileSync(join(tree, "three.txt"), "3");
  const again = look();
  const last = await again.reply();
  driver.press(all.you, last.id, last.buttons[1]?.customId ?? "");
  await until("the answer", () => again.find()?.content === "🧹 The worktree is removed.");
  expect(existsSync(tree)).toBe(false);
  expect(inRepository("branch", "--list", "threadmux/*")).toBe("");
  expect((await look().reply()).content).toBe("⚠️ This thread has no worktree.");
});

test("a branch is merged or rebased by a button, conflicts are told, and then its thread ends with its worktree", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: BYPASS_CONFIG });
  const { driver, channelId } = all.discord;
  const repository = join(all.sidecar.reposDir, "shop");
  mkdirSync(repository);
  git(repository, "init", "-q", "-b", "main");
  writeFileSync(join(repository, "a.txt"), "one\n");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "first");
  const use = (name: string, options = {}) => driver.command(all.you, channelId, name, options);
  const begun = use("agent", { dir: "shop", worktree: true, prompt: script("Fix", { text: "Fixed." }) });
  const threadId = /<#(\d+)>/.exec((await begun.reply()).content)?.[1] ?? "";
  await untilStatus(all.sidecar, threadId, "idle");
  const tree = join(all.sidecar.stateDir, "worktrees", threadId);
  const save = (place: string, text: string) => {
    writeFileSync(join(place, "a.txt"), text);
    git(place, "commit", "-qam", text.trim());
  };
  save(tree, "theirs\n");
  save(repository, "ours\n");
  const look = () => use("thread worktree", { thread: "#1" });
  const asked = look();
  const shown = await asked.reply();
  expect(shown.buttons.map(({ label }) => label)).toEqual(["Merge into main", "Rebase onto main"]);
  const press = (label: string) =>
    driver.press(
      all.you,
      shown.id,
      asked.find()?.buttons.find((button) => button.label === label)?.customId ?? "",
    );
  press("Merge into main");
  await until("the conflict", () =>
    /^⚠️ One file conflicts, and nothing was merged: "a.txt"\./.test(asked.find()?.content ?? ""),
  );
  expect(git(repository, "status", "--porcelain")).toBe("");
  git(repository, "reset", "-q", "--hard", "HEAD~1");
  writeFileSync(join(repository, "b.txt"), "b\n");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "beside");
  press("Rebase onto main");
  await until("the rebase", () =>
    /^🔀 1 commit is in `main` now, rebased \(before: [0-9a-f]{12}\)\./.test(asked.find()?.content ?? ""),
  );
  expect(git(repository, "log", "--format=%s").split("\n")).toEqual(["theirs", "beside", "first"]);
  expect(asked.find()?.buttons.map(({ label }) => label)).toEqual(["Keep", "End the thread, remove it"]);
  press("End the thread, remove it");
  await until("the end", () =>
    / has ended\. 🧹 The worktree is removed\.$/.test(asked.find()?.content ?? ""),
  );
  await untilStatus(all.sidecar, threadId, "killed");
  expect(existsSync(tree)).toBe(false);
  expect(git(repository, "branch", "--list", "threadmux/*")).toBe("");
  expect((await use("thread worktree", { thread: "#1", merge: true, rebase: true }).reply()).content).toBe(
    "⚠️ `merge` and `rebase`: choose one of them.",
  );
});
