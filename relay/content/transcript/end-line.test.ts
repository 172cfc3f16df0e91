import { expect, test } from "vitest";
import type { EventBody } from "../../../shared/agent/events.ts";
import { withoutFolders } from "./inline.ts";
import { call, done, end, say, show, start, texts } from "./testing/events.ts";

test.each([
  ["/srv/repos/shop is in no git work tree"],
  ["git add: fatal: Unable to create '/srv/repos/my shop/.git/index.lock': File exists."],
  ['error: open("/srv/repos/shop/a.txt"): Permission denied'],
  ["ENOENT: no such file or directory, mkdir '/srv/state/threads/1/undo'"],
])("an end line and a refused undo name no folder of the VM: %s", (problem) => {
  const changes: EventBody = { type: "turn_changes", turnId: "t1", files: 0, added: 0, removed: 0, problem };
  const undo: EventBody = {
    type: "undo",
    undoId: "u1",
    target: "t1",
    by: "api:x",
    status: "refused",
    files: 0,
    restored: [],
    left: [],
    leftCount: 0,
    message: problem,
  };
  const shown = texts(
    show([start, call("c1", "Bash", "Bash ls", {}), done("c1"), changes, say("Done."), end, undo]),
  );
  expect(shown.at(-2)).toContain("no undo: ");
  expect(shown.at(-1)).toContain("Nothing was undone: ");
  expect(shown.slice(-2).join("\n")).not.toMatch(/srv|\/repos|\/state/);
});

test("of a path its file's name stays, and an address stays whole", () => {
  expect(withoutFolders("Unable to create '/a b/.git/index.lock': File exists")).toBe(
    "Unable to create 'index.lock': File exists",
  );
  expect(withoutFolders("see https://example.com/a/b and src/a.ts")).toBe(
    "see https://example.com/a/b and src/a.ts",
  );
  const long = `${"/:".repeat(50_000)}${"'/a".repeat(50_000)}`;
  const before = performance.now();
  withoutFolders(long);
  expect(performance.now() - before).toBeLessThan(1_000);
});
