import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { asUser, give } from "../test/support/as-user.ts";
import { makeFolder } from "../test/support/folders.ts";
import { removeTree, removeTreeNow } from "./remove-tree.ts";

test.each([
  ["in steps", removeTree],
  ["at once", async (path: string) => removeTreeNow(path)],
])("folders that are closed to us go too, and what a link leads to stays: %s", async (_name, remove) => {
  const root = makeFolder();
  onTestFinished(() => {
    chmodSync(join(root.path, "outside"), 0o755);
    root.remove();
  });
  if (process.getuid?.() === 0)
    for (const folder of [root.path, dirname(root.path)]) chmodSync(folder, 0o755);
  const [outside, top] = [join(root.path, "outside"), join(root.path, "top")];
  const deep = join(top, "cache", "module");
  mkdirSync(outside);
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(outside, "kept"), "kept");
  writeFileSync(join(deep, "file"), "");
  symlinkSync(outside, join(deep, "link"));
  give(root.path);
  for (const folder of [outside, deep, join(top, "cache")]) chmodSync(folder, 0o555);
  await asUser(() => remove(top));
  expect(existsSync(top)).toBe(false);
  expect(readFileSync(join(outside, "kept"), "utf8")).toBe("kept");
  await asUser(() => remove(top)); // what is gone is gone
});
