import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { read } from "./read.ts";
import { makeWorld, type World } from "./testing/world.ts";
import { anyTool } from "./tool.ts";
import { findWhere } from "./where.ts";

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world[Symbol.dispose]());

const put = (name: string, data: string | Uint8Array) => writeFileSync(join(world.dir, name), data);
const textOf = async (input: object) => (await world.run(read, input)).text;

test("lines come with their numbers, from an offset on and as many as are wanted", async () => {
  put("a", "one\ntwo\nthree");
  expect(await textOf({ file_path: "a" })).toBe("1\tone\n2\ttwo\n3\tthree");
  expect(await textOf({ file_path: join(world.dir, "a"), offset: 2, limit: 1 })).toBe(
    "2\ttwo\n\n(There is more: go on with offset 3.)",
  );
  expect(await textOf({ file_path: "a", offset: 3, limit: 1 })).toBe("3\tthree");
  expect(await textOf({ file_path: "a", offset: 9 })).toBe("(a has only 3 lines.)");
  put("b", "\n\n");
  expect(await textOf({ file_path: "b" })).toBe("1\t\n2\t");
  put("c", "");
  expect(await textOf({ file_path: "c" })).toBe("c is empty.");
});

test("CRLF and a BOM are told, and not shown", async () => {
  put("a", "\ufeffone\r\ntwo\r\n");
  expect(await textOf({ file_path: "a" })).toBe("1\tone\n2\ttwo\n\n(Its lines end in CRLF.)");
  put("latin", Buffer.from("caf\xe9\n", "latin1"));
  expect(await textOf({ file_path: "latin" })).toMatch(/^1\tcaf�\n\n\(It is not all UTF-8/);
});

test("a long line and a long file are cut, and what is left out can be read on", async () => {
  put("long", `${"é".repeat(3_000)}\nend`);
  const [line = "", end] = (await textOf({ file_path: "long" })).split("\n");
  expect(line).toMatch(/^1\té{1000}… 4,000 more bytes in this line …$/);
  expect(end).toBe("2\tend");
  put("many", "x\n".repeat(30_000));
  let next = 1;
  for (let rounds = 0; next > 0 && rounds < 10; rounds++) {
    const text = await textOf({ file_path: "many", offset: next, limit: 10_000 });
    expect(text.length).toBeLessThan(70_000);
    expect(text.startsWith(`${next}\tx\n`)).toBe(true);
    next = Number(/go on with offset (\d+)/.exec(text)?.[1] ?? 0);
  }
  expect(next).toBe(0);
});

test("of a file of 100 MB a part is read", async () => {
  put("big", "first\n");
  truncateSync(join(world.dir, "big"), 100_000_000);
  expect(await textOf({ file_path: "big", limit: 1 })).toContain("binary");
  const file = openSync(join(world.dir, "text"), "w");
  const block = Buffer.from(`${"x".repeat(1_023)}\n`.repeat(1_000));
  for (let blocks = 0; blocks < 100; blocks++) writeSync(file, block);
  closeSync(file);
  expect(await textOf({ file_path: "text", offset: 99_999, limit: 1 })).toMatch(/^99999\tx{1023}\n/);
  expect(await textOf({ file_path: "text", offset: 900_000 })).toBe("(text has only 100,000 lines.)");
});

test("a picture comes as one, if it is not too large", async () => {
  const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(100)]);
  put("a.txt", png);
  expect(await world.run(read, { file_path: "a.txt" })).toEqual({
    text: "a.txt: a picture (image/png) of 108 bytes.",
    images: [{ mediaType: "image/png", data: png }],
  });
  put("large.png", Buffer.concat([png, Buffer.alloc(4_000_000)]));
  expect(await world.run(read, { file_path: "large.png" })).toMatchObject({
    isError: true,
    text: expect.stringContaining("make it smaller first"),
  });
});

test("what is no text gets a sentence, at once", async () => {
  put("binary", Buffer.concat([Buffer.from("ELF"), Buffer.alloc(10)]));
  put("later", `${"x".repeat(20_000)}\0`);
  execFileSync("mkfifo", [join(world.dir, "fifo")]);
  mkdirSync(join(world.dir, "folder"));
  symlinkSync("loop", join(world.dir, "loop"));
  const server = createServer().listen(join(world.dir, "socket"));
  const said: Record<string, string> = {
    binary: "binary is a binary file of 13 bytes.",
    later: "later is a binary file: there is a NUL in it.",
    fifo: "fifo is a FIFO, not a file: reading it would wait for somebody who writes.",
    folder: "folder is a directory: list it with ls.",
    none: "none does not exist.",
    "binary/x": "binary/x can't be there: what holds it is a file.",
    loop: "loop is a link that leads to itself.",
    socket: "socket is a socket, not a file.",
    "a\0b": "A path can't have a NUL character in it.",
    "~/x": "~ is not expanded. Give the path as it is.",
    ["x".repeat(300)]: `${"x".repeat(300)} has too long a name.`,
    "a\n\u202eb": '"a\\n\\u202eb" does not exist.',
    ["x/".repeat(3_000)]: "The path is too long.",
  };
  for (const [file_path, text] of Object.entries(said))
    expect(await world.run(read, { file_path }), file_path).toEqual({ text, isError: true });
  server.close();
});

test("a device is not opened", async () => {
  symlinkSync("/dev/zero", join(world.dir, "zero"));
  expect(await textOf({ file_path: "/dev/zero" })).toContain("outside of this thread's directory");
  const everywhere = { dir: "/" };
  const result = await world.run(read, { file_path: "/dev/zero" }, everywhere);
  expect(result.text).toBe("/dev/zero is a device or the like, not a file.");
});

test("nothing outside is read, however it is named, and nothing that is closed", async () => {
  writeFileSync(join(world.outside, "secret"), "walnut");
  symlinkSync("../outside/secret", join(world.dir, "link"));
  symlinkSync("../outside", join(world.dir, "way"));
  symlinkSync("way", join(world.dir, "way2"));
  symlinkSync("../outside/none", join(world.dir, "nowhere"));
  mkdirSync(join(world.dir, "state"));
  writeFileSync(join(world.dir, "state/token"), "walnut");
  symlinkSync("state/token", join(world.dir, "token"));
  const closed = { closed: [join(world.dir, "state")] };
  for (const file_path of [
    ...["../outside/secret", join(world.outside, "secret"), "link", "way/secret", "way2/secret", "nowhere"],
    ...["state/token", "token", "x/../state/token", "/proc/self/environ", "/proc/self/cwd/package.json"],
  ]) {
    const { text, isError } = await world.run(read, { file_path }, closed);
    expect({ file_path, text, isError }).toMatchObject({ isError: true });
    expect(text).toMatch(/outside of this thread's directory|closed to agents/);
  }
  // What the thread is given to read is in a closed folder.
  const given = { closed: [world.outside], reads: [join(world.outside, "given")] };
  mkdirSync(join(world.outside, "given"));
  writeFileSync(join(world.outside, "given/a"), "attached");
  expect((await world.run(read, { file_path: join(world.outside, "given/a") }, given)).text).toBe(
    "1\tattached",
  );
  expect((await world.run(read, { file_path: join(world.outside, "secret") }, given)).isError).toBe(true);
});

test("a thread in the home or around the state folder reads neither secrets nor the state", async () => {
  const kept = ["home/.ssh/id", "home/.netrc", "state/token"];
  for (const name of [...kept, "home/plain", "state/worktrees/t/plain"]) {
    mkdirSync(dirname(join(world.dir, name)), { recursive: true });
    put(name, "walnut");
  }
  const where = findWhere(world.dir, [], join(world.dir, "state"), join(world.dir, "home"));
  for (const file_path of kept)
    expect((await world.run(read, { file_path }, where)).text).toBe(`${file_path} is closed to agents.`);
  expect((await world.run(read, { file_path: "home/plain" }, where)).text).toBe("1\twalnut");
  const worktree = findWhere(join(world.dir, "state/worktrees/t"), [], join(world.dir, "state"), undefined);
  expect((await world.run(read, { file_path: "plain" }, worktree)).text).toBe("1\twalnut");
  expect((await world.run(read, { file_path: "../../token" }, worktree)).isError).toBe(true);
});

test("a file that grows while it is read is told", async () => {
  put("log", "x\n".repeat(300_000));
  const grow = () => appendFileSync(join(world.dir, "log"), "y\n");
  const reading = textOf({ file_path: "log", offset: 299_999 });
  const timer = setInterval(grow, 0);
  const text = await reading.finally(() => clearInterval(timer));
  expect(text).toContain("299999\tx\n300000\tx");
  expect(text).toContain("The file was changed while it was read.");
});

test.runIf(process.getuid?.() !== 0)("a file without permission is told", async () => {
  put("closed", "x");
  chmodSync(join(world.dir, "closed"), 0);
  expect(await textOf({ file_path: "closed" })).toBe("closed can't be used: permission denied.");
});

test("files that look like secrets are asked about, also behind a link", () => {
  const asks = (file_path: string) => {
    const call = anyTool(read).call({ file_path });
    return "problem" in call ? call.problem : call.asksAs(world.context);
  };
  put(".env", "KEY=walnut");
  symlinkSync(".env", join(world.dir, "settings"));
  expect([".env", "settings", "sub/.ENV.local", "server.pem"].map(asks)).toEqual(Array(4).fill("always"));
  expect(["a", ".environment", ".git/config"].map(asks)).toEqual(Array(3).fill("nothing"));
});

test("a wrong input is told by its field", async () => {
  expect(await textOf({})).toMatch(/^read was called wrongly\. file_path: /);
  expect(await textOf({ file_path: "a", offset: 0, lines: 3 })).toMatch(/offset: .*lines/s);
  expect(anyTool(read).schema).toMatchObject({
    type: "object",
    required: ["file_path"],
    additionalProperties: false,
  });
});
