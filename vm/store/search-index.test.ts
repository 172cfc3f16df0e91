import { expect, test } from "vitest";
import { median } from "../../test/support/measure.ts";
import { SearchIndex } from "./search-index.ts";

const ALL_THREADS = [{ kind: "thread" as const, keys: null }];

/** Threads of a thousand lines each, all of which have one word, and some another. */
function indexOf(threads: number): SearchIndex {
  const index = SearchIndex.open(":memory:");
  for (let thread = 0; thread < threads; thread++) {
    const docId = index.beginDoc("thread", `t${thread}`, "1");
    const lines = Array.from({ length: 1_000 }, (_, n) => ({
      ...{ line: n + 1, at: n },
      text: thread === 0 && n < 15 ? "a needle in hay" : "only hay",
    }));
    index.add(docId, lines);
  }
  return index;
}

const cpuMs = (work: () => void): number => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

test("a rare word costs as much among forty times the lines", () => {
  const [few, many] = [indexOf(1), indexOf(40)];
  const search = (index: SearchIndex) => {
    for (let n = 0; n < 100; n++) expect(index.search("needle", ALL_THREADS, 15).hits).toHaveLength(15);
  };
  const times = (index: SearchIndex) => median(Array.from({ length: 5 }, () => cpuMs(() => search(index))));
  search(few);
  expect(times(many)).toBeLessThan(3 * times(few) + 10);
});

test("what is out of the scope is not given, whether the words are rare or common", () => {
  const index = indexOf(8);
  const memory = index.beginDoc("memory", "user/a.md", "1");
  index.add(memory, [{ line: 1, at: 1, text: "a needle of memory in hay" }]);
  const found = (query: string, kind: "memory" | "thread", keys: string[] | null) => [
    ...new Set(index.search(query, [{ kind, keys }], 200).hits.map((hit) => hit.key)),
  ];
  for (const query of ["needle", "hay"]) {
    expect(found(query, "memory", null), query).toEqual(["user/a.md"]);
    expect(found(query, "thread", ["t0"]), query).toEqual(["t0"]);
    expect(found(query, "memory", ["user/b.md"]), query).toEqual([]);
    expect(found(query, "thread", null), query).not.toContain("user/a.md");
  }
  expect(found("needle", "thread", ["t1"])).toEqual([]);
  expect(found("hay", "thread", ["t1"])).toEqual(["t1"]);
});
