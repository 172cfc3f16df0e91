import { closeSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFifo, openForEngine } from "../process/fifo.ts";
import { thisProcess } from "./alive.ts";
import { type Claim, LockFolder } from "./lock-folder.ts";
import { lockPathOf } from "./lock-path.ts";

let root: string;
let folder: string;
let locks: LockFolder;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "threadmux-test-"));
  folder = join(root, "locks");
  locks = new LockFolder(folder);
});
afterEach(() => rmSync(root, { recursive: true }));

const self = thisProcess();
const claim = (threadId: string, fields: Partial<Claim> = {}): Claim => ({
  v: 1,
  path: "/srv/a",
  threadId,
  callId: `call-${threadId}`,
  sinceMs: 1_000,
  holder: self,
  ...fields,
});
const take = (one: Claim) => locks.take(one, self, 2_000);

test("one call has a file; the next one gets it when it is given back, in the order of asking", () => {
  expect(take(claim("1"))).toBeUndefined();
  expect(take(claim("1"))).toBeUndefined();
  expect(take(claim("3", { sinceMs: 1_300 }))).toMatchObject({ threadId: "1" });
  expect(take(claim("2", { sinceMs: 1_200 }))).toMatchObject({ threadId: "1" });
  expect(take(claim("1", { callId: "another" }))).toMatchObject({ threadId: "1" });
  expect(take(claim("4", { path: "/srv/b" }))).toBeUndefined();
  for (const callId of ["call-1", "another"]) locks.release(claim("1", { callId }));
  expect(take(claim("3", { sinceMs: 1_300 }))).toMatchObject({ threadId: "2" });
  expect(take(claim("2", { sinceMs: 1_200 }))).toBeUndefined();
  for (const id of ["2", "3", "4"]) locks.releaseAll({ threadId: id, callId: `call-${id}` });
  expect(readdirSync(folder)).toEqual([]);
});

test("two that wait, each with a later time than it had at first, do not wait for each other", () => {
  expect(take(claim("1"))).toBeUndefined();
  expect(take(claim("2", { sinceMs: 1_200 }))).toMatchObject({ threadId: "1" });
  expect(take(claim("3", { sinceMs: 1_201 }))).toMatchObject({ threadId: "1" });
  locks.release(claim("1"));
  // A runner knows its wait by the step that it wrote down after its first look.
  expect(take(claim("3", { sinceMs: 1_204 }))).toMatchObject({ threadId: "2" });
  expect(take(claim("2", { sinceMs: 1_203 }))).toBeUndefined();
});

test("a dead holder's lock is nobody's: an engine whose input nobody reads, a process of another start", () => {
  const fifo = join(root, "stdin.1");
  makeFifo(fifo);
  const engine = openForEngine(fifo);
  expect(take(claim("1", { holder: { fifo } }))).toBeUndefined();
  expect(take(claim("2"))).toMatchObject({ threadId: "1" });
  closeSync(engine);
  expect(take(claim("2"))).toBeUndefined();
  locks.release(claim("2"));
  const dead = { ...(self as { pid: number; startedTicks: string; bootId: string }), startedTicks: "1" };
  expect(take(claim("3", { holder: dead }))).toBeUndefined();
  expect(take(claim("2"))).toBeUndefined();
  // The dead one's next runner looks what it still has.
  expect(locks.sweep("3")).toEqual([]);
  expect(locks.sweep("2")).toMatchObject([{ callId: "call-2" }]);
});

test("a stale lock that two find at once goes to one of them", () => {
  const dead = { fifo: join(root, "gone") };
  expect(take(claim("0", { holder: dead }))).toBeUndefined();
  // As far apart as two processes can be: the second one looks when the first one is about to claim.
  const first = claim("1");
  const second = claim("2", { sinceMs: 999 });
  const outcomes = [take(first), new LockFolder(folder).take(second, self, 2_000)];
  expect(outcomes.filter((before) => before === undefined)).toHaveLength(1);
});

test("many paths at once: those that are free, and who has the others", () => {
  expect(take(claim("1"))).toBeUndefined();
  const many = ["/srv/a", "/srv/b", "/srv/c"].map((path) => claim("2", { path }));
  expect([...locks.takeAll(many)]).toMatchObject([["/srv/a", { threadId: "1" }]]);
  expect(take(claim("3", { path: "/srv/c" }))).toMatchObject({ threadId: "2" });
  locks.releaseAll(claim("2"));
  expect(readdirSync(folder)).toHaveLength(2); // what the first has, and who waits
});

test("what is no lock of ours counts for nothing", () => {
  expect(take(claim("1"))).toBeUndefined();
  const [name = ""] = readdirSync(folder);
  locks.release(claim("1"));
  for (const text of ["", "{", "{}", '{"v":9}']) {
    writeFileSync(join(folder, name), text);
    expect(take(claim("2"))).toBeUndefined();
    locks.release(claim("2"));
  }
});

test("a file is known by its real path, under whichever name it is written", () => {
  const dir = join(root, "work");
  mkdirSync(join(dir, "real"), { recursive: true });
  writeFileSync(join(dir, "real", "a"), "");
  symlinkSync("real", join(dir, "linked"));
  symlinkSync("real/a", join(dir, "alias"));
  symlinkSync("real/new", join(dir, "dangling"));
  symlinkSync("loop", join(dir, "loop"));
  const of = (path: string) => lockPathOf(path, dir, join(dir, "real"));
  const real = (name: string) => join(dir, "real", name);
  expect(["real/a", "linked/a", "alias", "./real/../linked/a", "~/a"].map(of)).toEqual(
    Array(5).fill(real("a")),
  );
  expect(["linked/new", "dangling"].map(of)).toEqual([real("new"), real("new")]);
  expect(of("linked/x/y/z")).toBe(real("x/y/z"));
  expect(of("loop")).toBe(join(dir, "loop"));
  expect(of("real/a/below")).toBe(join(dir, "real/a/below"));
});
