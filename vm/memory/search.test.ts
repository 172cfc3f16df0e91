import { expect, test } from "vitest";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { MemorySearch, type MemorySearchOptions } from "./search.ts";

const [self, fresh, plain] = ["self", "fresh", "plain"].map((id) => knownThreadId.parse(id));

/** The index has a line of each thread; `fresh` was marked after the scopes were chosen. */
function searchOver(threadIds: readonly (ThreadId | undefined)[]): MemorySearch {
  const hits = threadIds.map((key) => ({ kind: "thread", key, line: 1, at: 0, text: `words of ${key}` }));
  return new MemorySearch({
    store: { agents: { find: () => undefined } },
    memory: { ownersOf: () => [], namesIn: () => [] },
    index: { search: async () => ({ hits, docCount: 3, behindBytes: 0 }) },
    marks: { findSpread: async (id: ThreadId) => (id === plain ? undefined : "text from outside") },
  } as unknown as MemorySearchOptions);
}

test("an agent finds nothing of a relative that text from outside got into a moment ago, and all of its own", async () => {
  if (!self || !fresh || !plain) throw new Error("no ids");
  const asked = { query: "words", where: "transcripts", family: [self, fresh, plain] } as const;
  const rights = { fold: {} as ThreadFold, mayOpenAll: () => true };
  const said = await searchOver([self, fresh, plain]).ofAgent(self, { ...asked, ...rights });
  expect(said).toContain("words of self");
  expect(said).toContain("words of plain");
  expect(said).not.toContain("words of fresh");
  const none = await searchOver([fresh]).ofAgent(self, { ...asked, ...rights });
  expect(none).toContain("Nothing has all of these words");
});
