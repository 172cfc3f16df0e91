import { describe, expect, it } from "vitest";
import { type Candidate, Checkpoints } from "./checkpoints.ts";
import { Screen } from "./screen.ts";

const screen = new Screen({ cols: 2, rows: 2 }).snapshot() as Candidate["screen"];

function candidate(offset: number, index: number): Candidate {
  return { offset, screen, pager: { index, rows: [], settled: 0, breaks: [] }, events: [] };
}

function checkpointsOf(...indexes: number[]): Checkpoints {
  const checkpoints = new Checkpoints(undefined);
  for (const [count, index] of indexes.entries()) checkpoints.add(candidate(count * 100, index));
  return checkpoints;
}

describe("Checkpoints", () => {
  it("gives the newest state before which everything is delivered", () => {
    const checkpoints = checkpointsOf(0, 0, 1, 3);
    expect(checkpoints.newest(0)?.offset).toBe(100);
    expect(checkpoints.newest(2)?.offset).toBe(200);
    expect(checkpoints.newest(5)?.offset).toBe(300);
  });

  it("renumbers what comes after a gap, and drops what is in it", () => {
    const checkpoints = checkpointsOf(0, 2, 4, 6, 9);
    // The pages 2 to 7 became the page 2: there is no going on from 4 or 6, and 9 is 4 now.
    checkpoints.collapse(2, 6, { lines: 60, bytes: 600 });
    expect(checkpoints.newest(3)).toMatchObject({ offset: 100, pager: { index: 2 } });
    expect(checkpoints.newest(4)).toMatchObject({ offset: 400, pager: { index: 4 } });
  });

  it("goes on within a gap that has grown since", () => {
    const checkpoints = checkpointsOf(0, 2, 5, 9);
    const size = { lines: 30, bytes: 300 };
    checkpoints.collapse(2, 3, size);
    checkpoints.collapse(2, 2, { lines: 40, bytes: 400 });
    // The gap is delivered as far as page 2 can be, which is not sealed.
    expect(checkpoints.newest(2)).toMatchObject({
      offset: 200,
      pager: { index: 3, gap: { index: 2, size } },
    });
    expect(checkpoints.newest(6)).toMatchObject({ offset: 300, pager: { index: 6 } });
  });

  it("keeps the early ones where many pages wait", () => {
    const checkpoints = checkpointsOf(...Array.from({ length: 100 }, (_, index) => index));
    for (let index = 0; index < 15; index++) expect(checkpoints.newest(index)?.pager.index).toBe(index);
    expect(checkpoints.newest(99)?.pager.index).toBe(99);
  });

  it("tells each state what happened after it", () => {
    const checkpoints = checkpointsOf(0, 1);
    checkpoints.record({ offset: 150, kind: "break" });
    checkpoints.add(candidate(200, 2));
    expect(checkpoints.newest(1)?.events).toHaveLength(1);
    expect(checkpoints.newest(2)?.events).toHaveLength(0);
  });
});
