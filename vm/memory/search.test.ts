import { expect, test } from "vitest";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { OWNER, type Principal, person } from "../../shared/principal.ts";
import { MemorySearch, type MemorySearchOptions } from "./search.ts";

const [self, fresh, plain, main] = ["self", "fresh", "plain", "main"].map((id) => knownThreadId.parse(id));

/** The index has a line of each thread; `fresh` was marked after the scopes were chosen. */
function searchOver(
  threadIds: readonly (ThreadId | undefined)[],
  mayRead: (by: Principal, threadId: ThreadId | undefined) => boolean = () => true,
): MemorySearch {
  const hits = threadIds.map((key) => ({ kind: "thread", key, line: 1, at: 0, text: `words of ${key}` }));
  return new MemorySearch({
    store: {
      agents: { find: () => undefined },
      threads: { list: () => [self, plain, main].map((threadId) => ({ threadId })) },
    },
    folders: { exists: () => true, madeBy: (id: ThreadId) => (id === main ? { voice: "message" } : {}) },
    memory: { ownersOf: () => [], namesIn: () => [] },
    index: {
      search: async ({ scopes }: { scopes: { keys: string[] | null }[] }) => {
        const isIn = (key: string | undefined) =>
          scopes.some(({ keys }) => keys === null || keys.includes(key ?? ""));
        return { hits: hits.filter(({ key }) => isIn(key)), docCount: 3, behindBytes: 0 };
      },
    },
    marks: { findSpread: async (id: ThreadId) => (id === plain ? undefined : "text from outside") },
    homes: { channelsOf: () => () => undefined },
    people: {
      may: (by: Principal) => mayRead(by, undefined),
      filterReadable: (by: Principal, items: readonly { threadId: ThreadId }[]) =>
        items.filter(({ threadId }) => mayRead(by, threadId)),
    },
  } as unknown as MemorySearchOptions);
}

test("an agent finds nothing of a relative that text from outside got into a moment ago, and all of its own", async () => {
  if (!self || !fresh || !plain) throw new Error("no ids");
  const asked = { query: "words", where: "transcripts", family: [self, fresh, plain] } as const;
  const rights = { fold: {} as ThreadFold };
  const said = await searchOver([self, fresh, plain]).ofAgent(self, { ...asked, ...rights });
  expect(said).toContain("words of self");
  expect(said).toContain("words of plain");
  expect(said).not.toContain("words of fresh");
  const none = await searchOver([fresh]).ofAgent(self, { ...asked, ...rights });
  expect(none).toContain("Nothing has all of these words");
});

test("what an agent that speaks with a tool writes for itself is found by itself, and by people outside of Discord", async () => {
  if (!self || !plain || !main) throw new Error("no ids");
  const search = searchOver([plain, main]);
  const asked = { query: "words", where: "transcripts", family: [self, plain, main] } as const;
  const rights = { fold: {} as ThreadFold };
  const found = async (by: Principal) =>
    (await search.ofPerson(by, "words", "transcripts", { limit: 10 })).hits.map(({ text }) => text);
  expect(await search.ofAgent(self, { ...asked, ...rights })).not.toContain("words of main");
  expect(await search.ofAgent(main, { ...asked, ...rights })).toContain("words of main");
  expect(await found(person("1"))).toEqual(["words of plain"]);
  expect(await found(OWNER)).toEqual(["words of plain", "words of main"]);
});

// Promise: S1
test("who reads in all channels but one finds nothing of that one, nor does an agent whom they ask", async () => {
  if (!self || !plain || !fresh) throw new Error("no ids");
  const mayRead = (by: Principal, threadId: ThreadId | undefined) => !isSame(by, "1") || threadId !== plain;
  const search = searchOver([self, plain], mayRead);
  const found = async (id: string) =>
    (await search.ofPerson(person(id), "words", "transcripts", { limit: 10 })).hits.map(({ text }) => text);
  expect(await found("1")).toEqual(["words of self"]);
  expect(await found("2")).toEqual(["words of self", "words of plain"]);
  const askedBy = (...ids: string[]) => {
    const messages = ids.map((id) => ({ source: `discord:${id}` }));
    const fold = { deliveries: [{ messages }] } as unknown as ThreadFold;
    return search.ofAgent(self, { query: "words", where: "others", family: [self], fold });
  };
  expect(await askedBy("2")).toContain("words of plain");
  expect(await askedBy("2", "1")).not.toContain("words of plain");
  expect(await askedBy()).toContain("nothing was searched");
});

function isSame(by: Principal, id: string): boolean {
  return by.kind === "person" && by.discordId === id;
}
