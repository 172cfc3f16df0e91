import { expect, test } from "vitest";
import { countChildren } from "./thread-list.ts";

test("a thread's children and theirs end with it, branches and others do not", () => {
  const origin = { threadId: "parent", number: 1, seq: 3 };
  const threads = [
    { threadId: "parent", parentId: null, origin: null },
    { threadId: "child", parentId: "parent", origin: null },
    { threadId: "grandchild", parentId: "child", origin: null },
    { threadId: "branch", parentId: "parent", origin },
    { threadId: "of the branch", parentId: "branch", origin: null },
    { threadId: "other", parentId: null, origin: null },
  ];
  const counts = threads.map(({ threadId }) => countChildren(threads, threadId));
  expect(counts).toEqual([2, 1, 0, 1, 0, 0]);
});
