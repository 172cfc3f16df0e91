/** The workspace that a newcomer finds. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeWorktree } from "../../shared/git/worktree.ts";
import { makeFolder } from "../support/folders.ts";

test("in the example an agent can have a worktree of its own", async () => {
  const folder = makeFolder();
  const workspace = join(folder.path, "workspace");
  const script = "import(process.argv[1]).then(({ makeWorkspace }) => makeWorkspace(process.argv[2]))";
  const file = new URL("../../scripts/workspace.mjs", import.meta.url).href;
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder.path };
  execFileSync(process.execPath, ["-e", script, file, workspace], { env });
  const [root, path] = [join(workspace, "example"), join(folder.path, "tree")];
  expect(execFileSync("git", ["-C", root, "status", "--porcelain"], { encoding: "utf8" })).toBe("");
  await makeWorktree({ root, path, branch: "threadmux/1-a", name: "t1" }, join(folder.path, "own"), env);
  expect(execFileSync("ls", [path], { encoding: "utf8" })).toBe("README.md\ncount.sh\n");
  folder.remove();
});
