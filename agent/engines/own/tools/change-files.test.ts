import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pause } from "../../../../shared/lifecycle.ts";
import { changeFiles, type PlannedFile, settleWrites } from "./change-files.ts";
import { edit } from "./edit.ts";
import { withFile } from "./open-file.ts";
import { hashOf, takeSnapshot } from "./snapshot.ts";
import { makeWorld, type World } from "./testing/world.ts";
import { anyTool, type FileChange } from "./tool.ts";
import { write } from "./write.ts";

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world[Symbol.dispose]());

const at = (name: string) => join(world.dir, name);
const put = (name: string, data: string | Uint8Array) => writeFileSync(at(name), data);
const get = (name: string) => readFileSync(at(name), "utf8");
const hash = (text: string) => hashOf(Buffer.from(text));
const change = (file_path: string, old_string: string, new_string: string, more: object = {}) =>
  world.run(edit, { file_path, old_string, new_string, ...more });

test("write makes a file with its folders, and replaces one; the contents are announced before", async () => {
  const made = await world.run(write, { file_path: "a/b/c.txt", content: "one\n" });
  expect(made).toEqual({
    text: "a/b/c.txt was made (+1 −0 lines).",
    diffs: [{ path: "a/b/c.txt", oldText: null, newText: "one\n" }],
  });
  chmodSync(at("a/b/c.txt"), 0o750);
  const seen: string[] = [];
  const beforeWrite = async (files: readonly FileChange[]) => {
    seen.push(get("a/b/c.txt"), ...readdirSync(at("a/b")));
    expect(files).toEqual([{ file: at("a/b/c.txt"), old: hash("one\n"), new: hash("two\n") }]);
  };
  const replaced = await world.run(write, { file_path: at("a/b/c.txt"), content: "two\n" }, { beforeWrite });
  expect(replaced.text).toBe("a/b/c.txt was written (+1 −1 lines).");
  expect(seen).toEqual(["one\n", "c.txt"]);
  expect([get("a/b/c.txt"), statSync(at("a/b/c.txt")).mode & 0o777, readdirSync(at("a/b"))]).toEqual([
    "two\n",
    0o750,
    ["c.txt"],
  ]);
});

test("edit replaces the only such text; none, or several, change nothing", async () => {
  put("a", "let x = 1;\nlet y = 1;\n  deep(  );\n");
  expect((await change("a", "x = 1", "x = 2")).text).toBe("a was edited (+1 −1 lines).");
  expect((await change("a", "let", "var")).text).toBe(
    "old_string is 2 times in a (lines 1, 2). Give more lines around it, or set replace_all.",
  );
  expect((await change("a", "z", "w")).text).toBe("old_string is not in a.");
  expect((await change("a", "deep( );", "w")).text).toBe(
    "old_string is not in a. Line 3 has it with other blanks: copy it as read shows it.",
  );
  expect((await change("a", "x", "x")).text).toBe("old_string and new_string are the same.");
  expect((await change("none", "x", "y")).text).toBe("none does not exist. Make it with write.");
  expect(get("a")).toBe("let x = 2;\nlet y = 1;\n  deep(  );\n");
  expect((await change("a", "let", "$& $1", { replace_all: true })).text).toBe(
    "a was edited in 2 places (+2 −2 lines).",
  );
  expect(get("a")).toBe("$& $1 x = 2;\n$& $1 y = 1;\n  deep(  );\n");
});

test("edit keeps CRLF, a BOM, the mode, and bytes that are no UTF-8", async () => {
  put("a", Buffer.concat([Buffer.from("\ufeffone\r\ntwo\r\nthree\r\n"), Buffer.from([0xe9, 0xff])]));
  chmodSync(at("a"), 0o755);
  await change("a", "one\ntwo", "1\n2\n2b");
  await change("a", "three", "3\n4");
  expect(readFileSync(at("a"))).toEqual(
    Buffer.concat([Buffer.from("\ufeff1\r\n2\r\n2b\r\n3\r\n4\r\n"), Buffer.from([0xe9, 0xff])]),
  );
  expect(statSync(at("a")).mode & 0o777).toBe(0o755);
  put("lf", "one\ntwo\n");
  await change("lf", "one", "1\r\n1b");
  expect(get("lf")).toBe("1\r\n1b\ntwo\n");
});

test("what is no file of the thread is not written, and links are kept", async () => {
  put("real", "x");
  symlinkSync("real", at("link"));
  writeFileSync(join(world.outside, "other"), "walnut");
  symlinkSync(join(world.outside, "other"), at("out"));
  symlinkSync(join(world.outside, "fresh"), at("dangling"));
  symlinkSync(world.outside, at("way"));
  mkdirSync(at("folder"));
  put("binary", "\0");
  await change("link", "x", "y");
  expect([readlinkSync(at("link")), get("real")]).toEqual(["real", "y"]);
  for (const file_path of [
    "out",
    "dangling",
    "way/new",
    "way/sub/new",
    "../outside/other",
    "/etc/new",
    "folder",
    ".",
  ]) {
    const result = await world.run(write, { file_path, content: "mine" });
    expect({ file_path, ...result }).toMatchObject({ isError: true });
  }
  expect((await change("binary", "a", "b")).text).toBe("binary is a binary file.");
  expect((await world.run(write, { file_path: "real/x", content: "" })).text).toContain(
    "what holds it is a file",
  );
  expect(readFileSync(join(world.outside, "other"), "utf8")).toBe("walnut");
  expect(readdirSync(world.outside)).toEqual(["other"]);
  expect(world.announced).toHaveLength(1);
});

test("a file of 100 MB is left to commands", async () => {
  put("big", "");
  truncateSync(at("big"), 100_000_000);
  expect((await world.run(write, { file_path: "big", content: "" })).text).toMatch(/100,000,000 bytes/);
  put("many", "x".repeat(1_000_000));
  const long = { file_path: "many", old_string: "x", new_string: "y".repeat(100), replace_all: true };
  expect((await world.run(edit, long)).text).toBe("many would become too long.");
});

test.each([
  ["changed", () => appendFileSync(at("a"), "z")],
  ["replaced by as long a one", () => writeAside("y")],
  ["removed", () => rmSync(at("a"), { force: true })],
  ["made", () => put("new", "z")],
])("what somebody else has %s meanwhile is not overwritten", async (_, meanwhile) => {
  put("a", "x");
  const beforeWrite = async () => meanwhile();
  for (const call of [
    () => world.run(write, { file_path: "a", content: "mine" }, { beforeWrite }),
    () => world.run(write, { file_path: "new", content: "mine" }, { beforeWrite }),
  ])
    await call();
  const contents = readdirSync(world.dir).map((name) => get(name));
  expect(contents.filter((text) => text === "mine")).toHaveLength(1); // the other of the two files
});

function writeAside(text: string): void {
  put("aside", text);
  renameSync(at("aside"), at("a"));
}

test("a folder that is swapped for a link meanwhile gets nothing", async () => {
  mkdirSync(at("sub"));
  put("sub/a", "x");
  const beforeWrite = async () => {
    renameSync(at("sub"), at("old"));
    symlinkSync(world.outside, at("sub"));
  };
  const result = await world.run(write, { file_path: "sub/a", content: "mine" }, { beforeWrite });
  expect(result).toMatchObject({ isError: true });
  expect([readdirSync(world.outside), readFileSync(at("old/a"), "utf8")]).toEqual([[], "x"]);
  // The same for one further up.
  mkdirSync(at("top/deep"), { recursive: true });
  mkdirSync(join(world.outside, "deep"));
  const swapTop = async () => {
    renameSync(at("top"), at("old-top"));
    symlinkSync(world.outside, at("top"));
  };
  await world.run(write, { file_path: "top/deep/a", content: "mine" }, { beforeWrite: swapTop });
  expect(readdirSync(join(world.outside, "deep"))).toEqual([]);
});

test("nothing is written before the announcement is through, and nothing if that fails", async () => {
  put("a", "x");
  let isAnnounced = false;
  const slowly = async () => {
    await pause(20);
    expect([get("a"), readdirSync(world.dir)]).toEqual(["x", ["a"]]);
    isAnnounced = true;
  };
  await world.run(write, { file_path: "a", content: "y" }, { beforeWrite: slowly });
  expect([get("a"), isAnnounced]).toEqual(["y", true]);
  const full = async () => Promise.reject(new Error("the disk is full"));
  await expect(world.run(write, { file_path: "a", content: "z" }, { beforeWrite: full })).rejects.toThrow(
    "the disk is full",
  );
  expect([get("a"), readdirSync(world.dir)]).toEqual(["y", ["a"]]);
});

test("what a thread is given to read is not written", async () => {
  const given = { reads: [world.outside] };
  const { text } = await world.run(write, { file_path: join(world.outside, "a"), content: "mine" }, given);
  expect([text, readdirSync(world.outside)]).toEqual([`${join(world.outside, "a")} can only be read.`, []]);
});

test("of several files all are written or none", async () => {
  put("a", "1");
  put("b", "2");
  mkdirSync(at("c"));
  const plan: PlannedFile[] = await Promise.all(
    ["a", "new", "b"].map(async (name) => ({
      ...(await takeSnapshot(name, world.context)),
      new: Buffer.from("mine"),
    })),
  );
  // What stands in its place can't be replaced by a file.
  const beforeRename = { ...plan[1], path: at("c") } as PlannedFile;
  await expect(changeFiles([...plan.slice(0, 1), beforeRename], world.context)).rejects.toThrow(
    "changed meanwhile",
  );
  expect([get("a"), readdirSync(world.dir).sort()]).toEqual(["1", ["a", "b", "c"]]);
  const interrupted = new AbortController();
  const beforeWrite = async () => interrupted.abort();
  await expect(
    changeFiles(plan, { ...world.context, signal: interrupted.signal, beforeWrite }),
  ).rejects.toThrow(/abort/);
  expect([get("a"), get("b"), existsSync(at("new"))]).toEqual(["1", "2", false]);
  const removed = [...plan.slice(0, 2), { ...plan[2], new: null } as PlannedFile];
  await changeFiles(removed, world.context);
  expect([get("a"), get("new"), existsSync(at("b"))]).toEqual(["mine", "mine", false]);
});

test("what was written already is put back if the last file can't be", async () => {
  put("a", "1");
  chmodSync(at("a"), 0o640);
  const plan: PlannedFile[] = await Promise.all(
    ["a", "new"].map(async (name) => ({
      ...(await takeSnapshot(name, world.context)),
      new: Buffer.from("mine"),
    })),
  );
  const system = { ...world.context, dir: "/" };
  // Nobody can remove it, root neither.
  const stays = await withFile("/sys/kernel/notes", system, async ({ path, handle, stamp }) => {
    const { mode, uid, gid } = await handle.stat();
    return { path, old: { bytes: Buffer.alloc(0), sha256: "", stamp, mode, uid, gid }, new: null };
  });
  await expect(changeFiles([...plan, stays], system)).rejects.toThrow(/can't be used|read-only/);
  expect([get("a"), statSync(at("a")).mode & 0o777, readdirSync(world.dir)]).toEqual(["1", 0o640, ["a"]]);
});

test("after a death the announced contents say what had happened", async () => {
  const changes = [
    { file: at("a"), old: hash("1"), new: hash("2") },
    { file: at("b"), old: null, new: hash("2") },
    { file: at("c"), old: hash("1"), new: null },
  ];
  const settle = (a: string | null, b: string | null, c: string | null) => {
    for (const [name, text] of Object.entries({ a, b, c })) {
      rmSync(at(name), { force: true, recursive: true });
      if (text !== null) put(name, text);
    }
    put(".threadmux-c7x1.part0", "left");
    return settleWrites(changes, "c7x1");
  };
  expect(await settle("2", "2", null)).toBe("completed");
  expect(await settle("1", null, "1")).toBe("run");
  expect(await settle("2", null, "1")).toBe("unknown");
  expect(await settle("3", "2", null)).toBe("unknown");
  expect(readdirSync(world.dir).sort()).toEqual(["a", "b"]);
  rmSync(at("a"));
  mkdirSync(at("a"));
  expect(settleWrites(changes, "c7x1")).toBe("unknown");
  expect(settleWrites([], "c7x1")).toBe("completed");
  expect(settleWrites([{ file: join(at("gone"), "x"), old: null, new: hash("") }], "c")).toBe("run");
});

test("a write into .git, also by a link, is asked about in every mode; a write tells its file for a lock", () => {
  mkdirSync(at(".git/hooks"), { recursive: true });
  symlinkSync(".git/hooks", at("innocent"));
  const call = (file_path: string) => {
    const made = anyTool(write).call({ file_path, content: "" });
    if ("problem" in made) throw new Error(made.problem);
    return { asks: made.asksAs(world.context), writes: made.writes(world.context), subject: made.subject };
  };
  expect(call("src/a")).toEqual({ asks: "write", writes: [at("src/a")], subject: "src/a" });
  expect(call("innocent/pre-commit")).toMatchObject({
    asks: "always",
    writes: [at(".git/hooks/pre-commit")],
  });
  expect([".GIT/config", ".env", "sub/.git/x"].map((path) => call(path).asks)).toEqual(
    Array(3).fill("always"),
  );
  expect(call("/etc/passwd").writes).toEqual([]);
});
