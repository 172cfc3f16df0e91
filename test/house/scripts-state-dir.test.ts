/** scripts/run writes to STATE_DIR before the sidecar does, so it looks first whether the folder is for that. */
import { execFile } from "node:child_process";
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
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/start.mjs", import.meta.url));

let folder: ReturnType<typeof makeFolder>;
let dir: string;
beforeEach(() => {
  folder = makeFolder();
  dir = join(folder.path, "s");
  mkdirSync(dir);
});
afterEach(() => folder.remove());

const mode = () => statSync(dir).mode & 0o7777;

describe.each([
  ["a sticky one", 0o1777, "is a shared folder"],
  ["an open one with other things in it", 0o755, "is open to others and holds other things"],
])("%s", (_name, before, words) => {
  // Promise: S18
  test.each(["check", "start", "stop"])("is refused and left as it is: %s", async (action) => {
    writeFileSync(join(dir, "notes.txt"), "mine");
    chmodSync(dir, before);
    const own = { STATE_DIR: dir, REPOS_DIR: join(folder.path, "repos"), DISCORD_TOKEN: "" };
    const env = { ...process.env, ...own, VM_PORT: "0", LOCAL_DISCORD_PORT: "0" };
    const run = promisify(execFile)(process.execPath, [SCRIPT, action], { env, timeout: 30_000 });
    const failed = await run.catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining(`STATE_DIR: ${dir} ${words}`) });
    expect([mode(), readdirSync(dir)]).toEqual([before, ["notes.txt"]]);
  });
});

// Promise: S18
test.each(["check", "start"])(
  "one in a git work tree is refused, and nothing is made: %s",
  async (action) => {
    mkdirSync(join(folder.path, "shop", ".git"), { recursive: true });
    const state = join(folder.path, "shop", "a", "state");
    const own = { STATE_DIR: state, REPOS_DIR: join(folder.path, "repos"), DISCORD_TOKEN: "" };
    const env = { ...process.env, ...own, VM_PORT: "0", LOCAL_DISCORD_PORT: "0" };
    const run = promisify(execFile)(process.execPath, [SCRIPT, action], { env, timeout: 30_000 });
    const words = `STATE_DIR: ${state} is in the git work tree ${join(folder.path, "shop")}`;
    expect(await run.catch((error: unknown) => error)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(words),
    });
    expect(readdirSync(join(folder.path, "shop"))).toEqual([".git"]);
  },
);

test("each checkout has a state folder of its own, outside of it", async () => {
  const { defaultStateDir } = await import(new URL("../../scripts/processes.mjs", import.meta.url).href);
  const [one, two] = ["one", "two"].map((name) => {
    const checkout = join(folder.path, name, "threadmux");
    mkdirSync(checkout, { recursive: true });
    return defaultStateDir(checkout) as string;
  });
  expect(one).toMatch(/\/threadmux\/threadmux-[0-9a-f]{8}$/);
  expect(one).not.toBe(two);
  expect(one?.startsWith(folder.path)).toBe(false);
});

test("one that is set for a run is not where the checkout's own state is", async () => {
  const named = fileURLToPath(new URL("../../.state-dir", import.meta.url));
  const read = () => (existsSync(named) ? readFileSync(named, "utf8") : undefined);
  const before = read();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  const own = { STATE_DIR: dir, REPOS_DIR: join(folder.path, "repos"), DISCORD_TOKEN: "" };
  const env = { ...process.env, ...own, VM_HOST: "127.0.0.1", VM_PORT: `${port}`, LOCAL_DISCORD_PORT: "0" };
  const run = promisify(execFile)(process.execPath, [SCRIPT, "start"], { env, timeout: 30_000 });
  expect(await run.catch((error: unknown) => error)).toMatchObject({
    stderr: expect.stringContaining(`port ${port} is taken`),
  });
  taken.close();
  expect(read()).toBe(before);
});

test("the state that a checkout held before is told about while it is there, if it is not in use", async () => {
  const { oldStateOf } = await import(new URL("../../scripts/processes.mjs", import.meta.url).href);
  expect(oldStateOf(folder.path, dir)).toBeUndefined();
  const old = join(folder.path, ".threadmux");
  mkdirSync(old);
  expect(oldStateOf(folder.path, dir)).toBeUndefined(); // nothing in it
  writeFileSync(join(old, "threadmux.db"), "");
  expect(oldStateOf(folder.path, dir)).toMatch(new RegExp(`^${old} holds .* set STATE_DIR`));
  symlinkSync(old, join(folder.path, "link"));
  expect(oldStateOf(folder.path, join(folder.path, "link"))).toBeUndefined();
});

test("an empty one, and one that was used before, are closed to others", async () => {
  const { makeStateDir } = await import(new URL("../../scripts/processes.mjs", import.meta.url).href);
  for (const name of ["", "threadmux.db"]) {
    if (name !== "") writeFileSync(join(dir, name), "");
    chmodSync(dir, 0o755);
    makeStateDir(dir);
    expect(mode()).toBe(0o700);
  }
});
