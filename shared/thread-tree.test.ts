import { expect, test } from "vitest";
import { threadTree } from "./thread-tree.ts";

type Placed = Parameters<typeof threadTree>[0][number];
const thread = (threadId: string, second: number, parentId: string | null = null): Placed => ({
  threadId,
  createdAt: new Date(second * 1_000).toISOString(),
  parentId,
});
const drawn = (threads: Placed[], shown?: (id: string) => boolean) =>
  threadTree(threads, shown && (({ threadId }) => shown(threadId))).map(
    ({ thread: { threadId }, depth }) => `${"-".repeat(depth)}${threadId}`,
  );

test("children stand below their parent, the oldest first, whatever the order of the rest", () => {
  const threads = [
    thread("new", 9),
    thread("child-2", 8, "old"),
    thread("child-1", 7, "old"),
    thread("grandchild", 8, "child-0"),
    thread("old", 1),
    thread("child-0", 2, "old"),
    thread("orphan", 3, "gone"),
  ];
  expect(drawn(threads)).toEqual([
    "new",
    "old",
    "-child-0",
    "--grandchild",
    "-child-1",
    "-child-2",
    "orphan",
  ]);
  expect(drawn(threads, (id) => id === "grandchild")).toEqual(["old", "-child-0", "--grandchild"]);
});

test("a circle loses nobody, and a chain of thousands is drawn in three steps", () => {
  expect(drawn([thread("a", 1, "b"), thread("b", 2, "a"), thread("c", 3, "c")])).toEqual(["a", "-b", "c"]);
  const chain = Array.from({ length: 20_000 }, (_, i) => thread(`t${i}`, i, i === 0 ? null : `t${i - 1}`));
  const tree = threadTree(chain);
  expect(tree.map(({ thread: { threadId } }) => threadId)).toEqual(chain.map(({ threadId }) => threadId));
  expect(tree.at(-1)?.depth).toBe(3);
});
