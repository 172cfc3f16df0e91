import { expect, test } from "vitest";
import { FirstLook } from "./first-look.ts";

function looking(count: number, isShared = false) {
  const unread = new Set(Array.from({ length: count }, (_, n) => `page.${n}`));
  const ledger = {
    unread: (keys: readonly string[]) =>
      keys.filter((key) => unread.has(key)).map((key) => ({ key, id: "1" })),
    read: async () => unread.clear(),
    noteEdit: (key: string) => void unread.delete(key),
  };
  const pages = [...unread].map((key) => ({ key }));
  const look = new FirstLook({ ledger, isShared, now: () => 1_000 });
  return { look, next: () => look.next(pages)?.at };
}

test("what output edits anyway is not looked at; without output it is, a little later", () => {
  const { look, next } = looking(2);
  expect(next()).toBe(4_000);
  expect([look.noteMoved(), look.noteMoved()]).toEqual([true, false]);
  expect(next()).toBeUndefined();
});

test.each([
  ["many messages", 3, false],
  ["a channel, in which others write too", 1, true],
])("%s are looked at with one request, whatever comes", (_, count, isShared) => {
  const { look, next } = looking(count, isShared);
  expect(next()).toBe(0);
  look.noteMoved();
  expect(next()).toBe(0);
});
