import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { findOperation } from "./operation.ts";

const folder = makeFolder();
afterAll(() => folder.remove());
const NOW = 1_800_000_000_000;

test("a lock that nobody holds any more is named, with its age and what to do", async () => {
  const path = join(folder.path, "work");
  const gitDir = join(path, ".git");
  mkdirSync(gitDir, { recursive: true });
  expect(await findOperation({ path, gitDir }, NOW)).toBeUndefined();
  const lock = join(gitDir, "index.lock");
  writeFileSync(lock, "");
  const told = (seconds: number) => {
    utimesSync(lock, NOW / 1_000 - seconds, NOW / 1_000 - seconds);
    return findOperation({ path, gitDir }, NOW);
  };
  expect(await told(3)).toBe("another git command is going on in the repository (it has .git/index.lock)");
  for (const [seconds, age] of [
    [90, "a minute"],
    [1_900, "31 minutes"],
    [9_000, "2 hours"],
    [300_000, "3 days"],
  ] as const) {
    expect(await told(seconds)).toBe(
      `another git command has had .git/index.lock for ${age}; if no git runs there, one that was killed has left it: ` +
        "remove that file",
    );
  }
});

test("of a linked worktree, where git keeps it", async () => {
  const gitDir = join(folder.path, "main/.git/worktrees/x");
  mkdirSync(gitDir, { recursive: true });
  writeFileSync(join(gitDir, "index.lock"), "");
  const path = join(folder.path, "linked");
  expect(await findOperation({ path, gitDir })).toContain(`(it has ${join(gitDir, "index.lock")})`);
  writeFileSync(join(gitDir, "MERGE_HEAD"), "");
  expect(await findOperation({ path, gitDir })).toBe("a merge is going on in the repository");
});
