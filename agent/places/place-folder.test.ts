import { closeSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { orderOf, type Waiter } from "../../shared/agent/place-order.ts";
import { thisProcess } from "../locks/alive.ts";
import { makeFifo, openForEngine } from "../process/fifo.ts";
import { type Claimant, PlaceFolder } from "./place-folder.ts";

let root: string;
let places: PlaceFolder;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "threadmux-test-"));
  places = new PlaceFolder(join(root, "places"), 2);
});
afterEach(() => rmSync(root, { recursive: true }));

const self = thisProcess();
const claimant = (threadId: string, fields: Partial<Claimant> = {}): Claimant => ({
  threadId,
  person: "anna",
  isBack: false,
  sinceMs: 1_000,
  ...fields,
});
const take = (threadId: string, fields: Partial<Claimant> = {}) =>
  places.take(claimant(threadId, fields), [self]);

test("what killed runners have left, and who was served long ago, does not pile up", () => {
  const folder = join(root, "places");
  for (const name of ["old.part", "new.part"]) writeFileSync(join(folder, name), "");
  utimesSync(join(folder, "old.part"), 1, 1);
  for (let i = 0; i < 1_005; i++) {
    writeFileSync(join(folder, `last.${i + 1}.${i.toString(16).padStart(12, "0")}`), "");
  }
  places = new PlaceFolder(folder, 2);
  expect(take("a")).toBeUndefined();
  const names = readdirSync(folder);
  expect(names.filter((name) => name.endsWith(".part"))).toEqual(["new.part"]);
  const served = names.filter((name) => name.startsWith("last."));
  expect(served).toHaveLength(1_000);
  expect(served).not.toContain("last.1.000000000000");
});

test("so many have a place, the others wait in order, and leave the queue or take the place", () => {
  expect([take("a"), take("b"), take("a")]).toEqual([undefined, undefined, undefined]);
  expect(take("c", { sinceMs: 2_000 })).toBe(0);
  expect(take("d", { sinceMs: 3_000 })).toBe(1);
  expect(take("back", { sinceMs: 4_000, isBack: true })).toBe(0);
  expect(take("c", { sinceMs: 2_000 })).toBe(1);
  places.release("a");
  expect(take("c", { sinceMs: 2_000 })).toBe(1);
  expect(take("back", { sinceMs: 4_000, isBack: true })).toBeUndefined();
  places.release("c");
  expect(take("d", { sinceMs: 3_000 })).toBe(0);
  places.release("b");
  expect(take("d", { sinceMs: 3_000 })).toBeUndefined();
  for (const id of ["back", "d"]) places.release(id);
  expect(readdirSync(join(root, "places"))).toEqual([expect.stringMatching(/^last\./)]);
});

test("of two that wait, one is first for both, whatever time each gives for itself later", () => {
  for (const id of ["a", "b"]) expect(take(id)).toBeUndefined();
  expect(take("two", { sinceMs: 2_016 })).toBe(0);
  expect(take("three", { sinceMs: 2_000 })).toBe(0);
  places.release("a");
  expect([take("two", { sinceMs: 2_018 }), take("three", { sinceMs: 2_025 })]).toEqual([1, undefined]);
});

test("the dead have no place and stand in nobody's way; an engine without a runner lives", () => {
  const fifo = join(root, "stdin.1");
  makeFifo(fifo);
  const engine = openForEngine(fifo);
  const dead = { ...(self as { pid: number; startedTicks: string; bootId: string }), startedTicks: "1" };
  expect(places.take(claimant("a"), [dead, { fifo }])).toBeUndefined();
  expect(take("b")).toBeUndefined();
  expect(places.take(claimant("gone", { sinceMs: 1 }), [dead])).toBe(0);
  expect(take("c")).toBeGreaterThanOrEqual(0);
  closeSync(engine);
  expect(take("c")).toBeUndefined();
});

test("what a thread held for the dead is no place of its own any more: it asks again", () => {
  const dead = { ...(self as { pid: number; startedTicks: string; bootId: string }), startedTicks: "1" };
  expect(places.take(claimant("a"), [dead])).toBeUndefined();
  expect(places.has("a")).toBe(false);
  expect([take("b"), take("c")]).toEqual([undefined, undefined]);
  expect(take("a")).toBe(0);
  places.release("b");
  expect(take("a")).toBeUndefined();
  expect(places.has("a")).toBe(true);
  expect(places.take(claimant("c"), [dead])).toBeUndefined();
  for (const id of ["a", "c"]) places.release(id);
  expect(places.take(claimant("alone"), [dead])).toBeUndefined();
  expect(take("alone")).toBeUndefined(); // with a claim that lives
  expect(places.has("alone")).toBe(true);
});

test("what is no claim of ours counts for nothing", () => {
  expect(take("a")).toBeUndefined();
  for (const name of readdirSync(join(root, "places"))) writeFileSync(join(root, "places", name), "{");
  writeFileSync(join(root, "places", "held.x"), "");
  expect([take("b"), take("c")]).toEqual([undefined, undefined]);
});

test("each person in turn; whoever comes back is first", () => {
  const waiter = (id: string, person: string, sinceMs: number, isBack = false): Waiter => ({
    id,
    person,
    sinceMs,
    isBack,
  });
  const many = [1, 2, 3].map((at) => waiter(`anna${at}`, "anna", at));
  const order = orderOf([...many, waiter("ben1", "ben", 10), waiter("ben2", "ben", 11)], ["anna"]);
  expect(order.map(({ id }) => id)).toEqual(["ben1", "anna1", "ben2", "anna2", "anna3"]);
  const served = new Map([["anna", 5]]);
  expect(orderOf([...many, waiter("ben1", "ben", 10)], [], served).map(({ id }) => id)[0]).toBe("ben1");
  expect(orderOf([...many, waiter("late", "anna", 99, true)], []).map(({ id }) => id)[0]).toBe("late");
});

test("one that sleeps keeps its turn while its file is there, counts for others, and blocks nobody", () => {
  const file = join(root, "thread.json");
  writeFileSync(file, "");
  for (const id of ["a", "b"]) expect(take(id)).toBeUndefined();
  expect(take("early", { sinceMs: 1_000 })).toBe(0);
  places.sleep(claimant("early", { sinceMs: 9_000 }), file);
  expect(take("late", { sinceMs: 2_000 })).toBe(1);
  places.release("a");
  expect(take("late", { sinceMs: 2_000 })).toBeUndefined();
  expect(take("later", { sinceMs: 3_000 })).toBe(1);
  expect(take("early", { sinceMs: 9_000 })).toBe(0);
  places.sleep(claimant("early"), file);
  rmSync(file);
  expect(take("later", { sinceMs: 3_000 })).toBe(0);
});
