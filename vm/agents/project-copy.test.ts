import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { copyGrown, type Grown, MAX_COPY_BYTES } from "./project-copy.ts";
import { ProjectionFolder } from "./projection-folder.ts";

function follow() {
  const folder = makeFolder();
  const [source, copy] = [join(folder.path, "source"), join(folder.path, "copy")];
  let before: Grown | undefined;
  return {
    write: (text: string) => writeFileSync(source, text),
    /** Until nothing more is to be done. */
    step: () => {
      for (let steps = 0; steps < 30; steps++) {
        const { now, isWhole } = ProjectionFolder.use(folder.path, [], false, (place) =>
          copyGrown(place, "copy", { source, before }),
        );
        before = now;
        if (isWhole) return;
      }
      throw new Error("it never ends");
    },
    spoil: () => writeFileSync(copy, "x"),
    read: () => readFileSync(copy, "utf8"),
    remove: () => folder.remove(),
  };
}

test("whole lines alone are copied, each once", () => {
  const { write, step, read, remove } = follow();
  write("one\ntw");
  step();
  expect(read()).toBe("one\n");
  write("one\ntwo\nthree\n");
  step();
  expect(read()).toBe("one\ntwo\nthree\n");
  step();
  expect(read()).toBe("one\ntwo\nthree\n");
  remove();
});

test("a source that became shorter, and a copy that somebody changed, are copied anew", () => {
  const { write, step, read, spoil, remove } = follow();
  write("one\ntwo\nthree\n");
  step();
  write("one\n2\n");
  step();
  expect(read()).toBe("one\n2\n");
  spoil();
  write("one\n2\n3\n");
  step();
  expect(read()).toBe("one\n2\n3\n");
  remove();
});

test("a copy is bounded: it begins anew with the newest lines", () => {
  const { write, step, read, remove } = follow();
  const line = `${"x".repeat(99_999)}\n`;
  const many = (count: number) => Array.from({ length: count }, (_, at) => `${at}${line}`).join("");
  write(many(300));
  step();
  expect(read().length).toBeLessThanOrEqual(MAX_COPY_BYTES);
  expect(read().endsWith(`299${line}`)).toBe(true);
  expect(read()).toMatch(/^\d+x/);
  write(many(400));
  step();
  expect(read().length).toBeLessThanOrEqual(MAX_COPY_BYTES);
  expect(read().endsWith(`399${line}`)).toBe(true);
  remove();
});
