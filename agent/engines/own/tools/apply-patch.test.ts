import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cpuMsOf } from "../../../../test/support/measure.ts";
import { applyPatch } from "./apply-patch.ts";
import { hashOf } from "./snapshot.ts";
import { makeWorld, type World } from "./testing/world.ts";
import { anyTool } from "./tool.ts";

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world[Symbol.dispose]());

const put = (name: string, data: string | Uint8Array) => writeFileSync(join(world.dir, name), data);
const get = (name: string) => readFileSync(join(world.dir, name), "utf8");
const patchOf = (...lines: string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const apply = async (...lines: string[]) => world.run(applyPatch, { patch: patchOf(...lines) });
const update = async (...lines: string[]) => (await apply("*** Update File: a", ...lines)).text;

test("files are added, changed, moved and deleted by one patch, and announced before", async () => {
  put("a", "one\ntwo\nthree\n");
  put("b", "x\ny\n");
  put("c", "gone\n");
  chmodSync(join(world.dir, "b"), 0o755);
  const { text, diffs } = await apply(
    ...["*** Update File: a", "@@", " one", "-two", "+2", " three"],
    ...["*** Update File: b", "*** Move to: sub/b", " x", "-y", "+z"],
    ...["*** Add File: sub/new", "+first", "+", "+third"],
    "*** Delete File: c",
  );
  expect(text).toBe(
    "a was changed (+1 −1 lines).\nb was moved to sub/b (+1 −1 lines).\nsub/new was added (+3 −0 lines).\nc was deleted (+0 −1 lines).",
  );
  expect(diffs?.[0]).toEqual({ path: "a", oldText: "one\ntwo\nthree\n", newText: "one\n2\nthree\n" });
  expect([get("a"), get("sub/b"), get("sub/new")]).toEqual(["one\n2\nthree\n", "x\nz\n", "first\n\nthird\n"]);
  expect(statSync(join(world.dir, "sub/b")).mode & 0o777).toBe(0o755);
  expect(readdirSync(world.dir).sort()).toEqual(["a", "sub"]);
  const hash = (data: string) => hashOf(Buffer.from(data));
  const at = (name: string) => join(world.dir, name);
  expect(world.announced).toEqual([
    [
      { file: at("a"), old: hash("one\ntwo\nthree\n"), new: hash("one\n2\nthree\n") },
      { file: at("sub/b"), old: null, new: hash("x\nz\n") },
      { file: at("b"), old: hash("x\ny\n"), new: null },
      { file: at("sub/new"), old: null, new: hash("first\n\nthird\n") },
      { file: at("c"), old: hash("gone\n"), new: null },
    ],
  ]);
});

test("a hunk whose place is not certain is refused by its name", async () => {
  const before = "class A\n  f\n    return 1\nclass B\n  f\n    return 1\nend\n";
  put("a", before);
  expect(await update("     return 1", "+    x")).toBe(
    "Hunk 1 of a fits in 2 places (lines 3, 6). Give more lines around it, or an @@ line that stands before it.",
  );
  expect(await update("@@ f", "-    return 1", "+    return 2")).toMatch(/^Hunk 1 of a fits in 2 places/);
  expect(await update("@@", "+x")).toBe("Hunk 1 of a has no lines by which its place could be found.");
  expect(await update("@@ f", "+x")).toMatch(/^Hunk 1 of a fits in 2 places \(lines 3, 6\)/);
  expect(get("a")).toBe(before);
  expect(await update("@@ class B", "@@ f", "-    return 1", "+    return 2")).toBe(
    "a was changed (+1 −1 lines).",
  );
  expect(get("a")).toBe("class A\n  f\n    return 1\nclass B\n  f\n    return 2\nend\n");
  await update("@@ class A", "@@   f", "+    new");
  expect(get("a")).toMatch(/^class A\n {2}f\n {4}new\n {4}return 1\n/);
});

test("a hunk that does not fit is refused by its name, with the line that is not there", async () => {
  put("a", "one\ntwo\nthree\n");
  expect(await update(" one", "-two", "+2", "@@", "-four", "+4")).toBe(
    'Hunk 2 of a does not fit: the line "four" is not in the file.',
  );
  expect(await update(" one", "-three", "+3")).toBe(
    "Hunk 1 of a does not fit: its lines are in the file, but not one after the other.",
  );
  expect(await update("-three", "+3", "@@", "-one", "+1")).toBe(
    "Hunk 2 of a does not fit: it stands before the hunk above it. Hunks come in the order of the file.",
  );
  expect(await update("@@ four", "-two", "+2")).toBe(
    'Hunk 1 of a does not fit: the line "four" of its @@ is not there.',
  );
  expect(await update("@@ three", "-two", "+2")).toBe("Hunk 1 of a does not fit behind its @@ line.");
  expect(await update("   two", "+x")).toMatch(/the line " {2}two" is not in the file/);
  expect(await update("-two", "+2", "*** End of File")).toMatch(/^Hunk 1 of a does not fit/);
  expect([get("a"), world.announced]).toEqual(["one\ntwo\nthree\n", []]);
});

test("blanks at the end of a line and CRLF do not keep a hunk from its place, and stay", async () => {
  put("a", "\ufeffone  \r\ntwo\r\n\r\nthrée\r\n");
  expect(await update(" one", "-two", "+2", "", " thrée", "+four", "*** End of File")).toBe(
    "a was changed (+2 −1 lines).",
  );
  expect(get("a")).toBe("\ufeffone  \r\n2\r\n\r\nthrée\r\nfour\r\n");
  put("a", "one\ntwo");
  await update(" two", "+three");
  expect(get("a")).toBe("one\ntwo\nthree");
  put("a", Buffer.from("caf\xe9\nx\n", "latin1"));
  await update("-x", "+y");
  expect(readFileSync(join(world.dir, "a"), "latin1")).toBe("caf\xe9\ny\n");
  put("a", "only\n");
  await update("-only");
  expect(get("a")).toBe("");
  await update("+again");
  expect(get("a")).toBe("again\n");
});

test("the last line has no end if it had none, and one that comes to stand there has none", async () => {
  put("a", "one\ntwo");
  await update("@@", " one", "-two", "+2");
  expect(get("a")).toBe("one\n2");
  put("a", "one\r\ntwo");
  await update("@@", " one", "-two");
  expect(get("a")).toBe("one");
  put("a", "one\n");
  await update("@@", "-one", "+1");
  expect(get("a")).toBe("1\n");
});

test("if one file can't be changed none is", async () => {
  put("a", "one\n");
  put("b", "two\n");
  mkdirSync(join(world.dir, "folder"));
  symlinkSync(world.outside, join(world.dir, "way"));
  put("binary", "x\0");
  const ok = ["*** Update File: a", "-one", "+1"];
  const said: [string[], string][] = [
    [["*** Add File: b", "+x"], "b exists already. Update it, or replace it with write."],
    [["*** Delete File: none"], "none does not exist."],
    [["*** Delete File: folder"], "folder is a directory: list it with ls."],
    [["*** Update File: b", "*** Move to: a", "-two"], "a exists already: b can't be moved there."],
    [
      ["*** Update File: a", "-one", "+2"],
      'The patch has a twice. Put all of its hunks below one "*** Update File".',
    ],
    [["*** Update File: binary", "-x", "+y"], "binary is a binary file."],
    [["*** Update File: b", "*** Move to: way/b", "-two"], "outside of this thread's directory"],
    [["*** Add File: ../x", "+x"], "outside of this thread's directory"],
    [["*** Update File: b", "-other"], 'Hunk 1 of b does not fit: the line "other" is not in the file.'],
  ];
  for (const [lines, text] of said) {
    const result = await apply(...ok, ...lines);
    expect(result.isError, text).toBe(true);
    expect(result.text).toContain(text);
  }
  expect([get("a"), get("b"), world.announced, existsSync(join(world.outside, "b"))]).toEqual([
    "one\n",
    "two\n",
    [],
    false,
  ]);
});

test("what is no patch is told by its line", async () => {
  const say = async (patch: string) => (await world.run(applyPatch, { patch })).text;
  expect(await say("diff --git")).toBe('A patch begins with "*** Begin Patch".');
  expect(await say("*** Begin Patch\n*** Delete File: a")).toBe('A patch ends with "*** End Patch".');
  expect(await say(patchOf())).toBe("The patch names no file.");
  expect(await say(patchOf("x"))).toMatch(/^Line 2 of the patch stands before/);
  expect(await say(patchOf("*** Add File: a", "+x", "y"))).toBe(
    'Line 4 of the patch of a file that is added does not begin with +: "y".',
  );
  expect(await say(patchOf("*** Update File: a", "x"))).toMatch(/^Line 3 of the patch begins with none of/);
  expect(await say(patchOf("*** Update File: a", "@@ -1,3 +1,4 @@", "-x", "*** Move to: b"))).toMatch(
    /^Line 5 of the patch/,
  );
  expect(await say(patchOf("*** Update File: a"))).toBe("The patch changes nothing in a.");
  expect(await say(patchOf("*** Update File: a", " x"))).toBe("Hunk 1 of a changes nothing.");
  expect(await say(patchOf("*** Delete File: a", "x"))).toMatch(
    /^Line 3 of the patch stands in a file that is deleted/,
  );
  expect(await say("x".repeat(2_000_000))).toMatch(/^apply_patch was called wrongly/);
});

test("a hostile file and patch take no longer than others", async () => {
  put("a", "a\n".repeat(1_000_000));
  const lines = Array.from({ length: 5_000 }, () => " a");
  const ms = await cpuMsOf(async () =>
    expect(await update(...lines, "+b")).toMatch(/^Hunk 1 of a fits in 995001 places/),
  );
  expect(ms).toBeLessThan(10_000);
});

test("each file of a patch is asked about and told for its lock", () => {
  const call = anyTool(applyPatch).call({
    patch: patchOf("*** Delete File: a", "*** Update File: b", "*** Move to: .git/hooks/x"),
  });
  if ("problem" in call) throw new Error(call.problem);
  expect([call.asksAs(world.context), call.subject]).toEqual(["always", "a, b, .git/hooks/x"]);
  expect(call.writes(world.context)).toEqual(["a", "b", ".git/hooks/x"].map((name) => join(world.dir, name)));
  const plain = anyTool(applyPatch).call({ patch: patchOf("*** Delete File: a") });
  expect("problem" in plain || plain.asksAs(world.context)).toBe("write");
});
