import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openBelow } from "./send-file.ts";

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "threadmux-send-"));
  state = join(folder, "state");
  mkdirSync(join(state, "worktrees", "t1"), { recursive: true });
  writeFileSync(join(state, "threadmux.db"), "rows");
  writeFileSync(join(state, "worktrees", "t1", "report"), "words");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("nothing of STATE_DIR is sent from a directory above it, by its name or by a link", async () => {
  symlinkSync("state", join(folder, "docs"));
  for (const path of ["state/threadmux.db", "docs/threadmux.db", join(state, "worktrees", "t1", "report")])
    await expect(openBelow(folder, path, state)).rejects.toThrow("it belongs to threadmux itself");
});

test("a worktree in STATE_DIR sends its own files, and no others of it", async () => {
  const { handle, path } = await openBelow(join(state, "worktrees", "t1"), "report", state);
  await handle.close();
  expect(path).toBe(join(state, "worktrees", "t1", "report"));
  const other = openBelow(join(state, "worktrees", "t1"), "../../threadmux.db", state);
  await expect(other).rejects.toThrow("outside of this thread's working directory");
});
