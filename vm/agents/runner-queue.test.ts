import { afterEach, expect, test } from "vitest";
import { emptyFold } from "../../shared/agent/fold.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { until } from "../../test/support/wait.ts";
import { type Awake, RunnerQueue } from "./runner-queue.ts";

let queue: RunnerQueue | undefined;
afterEach(() => queue?.close());

const place = { stepId: "p", kind: "place", title: "", startedAt: "" } as const;

function make(ready: number) {
  const awake: Awake[] = [];
  const free: string[] = [];
  queue = new RunnerQueue({
    ready,
    findAwake: () => awake,
    onFree: (threadId) => free.push(threadId),
    onMoved: () => {},
    now: Date.now,
  });
  return { queue, awake, free };
}

test("as many wait with a runner as are ready, the next of each person in turn", async () => {
  const { queue, awake, free } = make(1);
  awake.push({ threadId: aThreadId("front"), person: "anna", fold: { ...emptyFold(), steps: [place] } });
  for (const [at, [id, person]] of [
    ["a", "anna"],
    ["b", "anna"],
    ["c", "ben"],
  ].entries()) {
    expect(queue.mayStart(aThreadId(id ?? ""), { person: person ?? "", sinceMs: at })).toBe(false);
  }
  await until(
    "all to know",
    () => queue.find(aThreadId("b"))?.title === "Waiting for a free place (3 before you)",
  );
  expect(queue.find(aThreadId("c"))?.title).toBe("Waiting for a free place (1 before you)");
  expect(free).toEqual([]);
  awake[0] = { threadId: aThreadId("front"), person: "anna", fold: emptyFold() };
  queue.note(aThreadId("front"));
  await until("the next to be woken", () => free.length > 0);
  expect(free).toEqual(["c"]);
  expect(queue.mayStart(aThreadId("c"), { person: "ben", sinceMs: 2 })).toBe(true);
});

test("four start at once; the next may as soon as one of them has come up", async () => {
  const { queue, free } = make(1);
  for (const id of ["a", "b", "c", "d"]) {
    expect(queue.mayStart(aThreadId(id), undefined)).toBe(true);
    queue.noteStart(aThreadId(id));
  }
  expect(queue.isCrowded).toBe(true);
  expect(queue.mayStart(aThreadId("e"), undefined)).toBe(false);
  queue.note(aThreadId("b"));
  await until("it to be free", () => free.length > 0);
  expect(free).toEqual(["e"]);
});
