/** What `.ci/run` makes of green, red and flaky files; a script stands in for scripts/test, which takes minutes. */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";

let remove: () => void = () => undefined;
afterEach(() => remove());

/** @param red of each ring, its red files: `again` says whether a file is red at the second look too. */
function ci(red: { file: string; again?: boolean }[], { ring = "", code = 1 } = {}) {
  const made = makeFolder();
  remove = made.remove;
  const at = (name: string) => join(made.path, name);
  for (const folder of [".ci", "scripts"]) mkdirSync(at(folder));
  copyFileSync(fileURLToPath(new URL("../../.ci/run", import.meta.url)), at(".ci/run"));
  const again = red.filter((one) => one.again).map(({ file }) => file);
  writeFileSync(
    at("scripts/test"),
    `#!/usr/bin/env bash
case "$*" in
  "${ring}")
    printf '%s' '${red.map(({ file }) => `${file}\tsays something\n`).join("")}' >"$THREADMUX_RED"
    echo; echo "${10 - red.length} passed, ${red.length} failed"
    exit ${code} ;;
  *--maxWorkers=1)
    for file in ${again.join(" ")}; do case "$*" in *"$file"*) exit 1 ;; esac; done ;;
esac
echo; echo "5 passed, 0 failed, 1 skipped"
`,
  );
  chmodSync(at("scripts/test"), 0o755);
  const { status, stdout } = spawnSync("bash", [at(".ci/run")], { encoding: "utf8" });
  return { status, last: stdout.trimEnd().split("\n").slice(-3), stdout };
}

test("green rings pass, with one count", () => {
  expect(ci([], { code: 0 })).toMatchObject({
    status: 0,
    last: [expect.anything(), expect.stringMatching(/ s in all$/), "15 passed, 0 failed"],
  });
});

test.each(["", "--agents"])("a red file that is green alone is FLAKY in the ring '%s'", (ring) => {
  const { status, last } = ci([{ file: "test/a.test.ts" }], { ring });
  expect(status).toBe(0);
  expect(last.slice(1)).toEqual(["FLAKY test/a.test.ts > says something", "15 passed, 0 failed"]);
});

test("a file that is red again fails", () => {
  expect(ci([{ file: "test/a.test.ts" }, { file: "test/b.test.ts", again: true }]).status).toBe(1);
});

test("more than three red files fail without a second look", () => {
  const { status, stdout } = ci(["a", "b", "c", "d"].map((name) => ({ file: `test/${name}.test.ts` })));
  expect(status).toBe(1);
  expect(stdout).not.toContain("Second look");
});

test.each([
  ["that no test explains", []],
  ["of no file", [{ file: "(no file)" }]],
])("a failure %s fails", (_what, red) => {
  expect(ci(red).status).toBe(1);
});
