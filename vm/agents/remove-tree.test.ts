import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { removeTree } from "./remove-tree.ts";

const NOBODY = 65_534;

/** Root may remove anything, so root does it as somebody else. */
async function asUser(work: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}

test("folders that are closed to us go too, and what a link leads to stays", async ({ onTestFinished }) => {
  const root = makeFolder();
  onTestFinished(() => {
    chmodSync(join(root.path, "outside"), 0o755);
    root.remove();
  });
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const folder of [root.path, dirname(root.path)]) chmodSync(folder, 0o755);
  const [outside, top] = [join(root.path, "outside"), join(root.path, "top")];
  const deep = join(top, "cache", "module");
  mkdirSync(outside);
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(outside, "kept"), "kept");
  writeFileSync(join(deep, "file"), "");
  symlinkSync(outside, join(deep, "link"));
  const mine = [root.path, outside, join(outside, "kept"), top, join(top, "cache"), deep, join(deep, "file")];
  if (isRoot) for (const path of mine) chownSync(path, NOBODY, NOBODY);
  for (const folder of [outside, deep, join(top, "cache")]) chmodSync(folder, 0o555);
  await asUser(() => removeTree(top));
  expect(existsSync(top)).toBe(false);
  expect(readFileSync(join(outside, "kept"), "utf8")).toBe("kept");
  await asUser(() => removeTree(top)); // what is gone is gone
});
