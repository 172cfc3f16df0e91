import { expect, test } from "vitest";
import { aThreadId } from "../../test/support/ids.ts";
import { Owners } from "./owners.ts";

// Promise: R27
test("what a person's agents spawn takes that person's share, and what jobs begin takes one together", () => {
  const owners = new Owners();
  const ada = "discord:100000000000000001";
  // The child is found first, as after a restart.
  owners.note(aThreadId("grandchild"), "thread:child");
  owners.note(aThreadId("child"), "thread:parent");
  expect(owners.of("thread:child")).toBe("thread:parent");
  owners.note(aThreadId("parent"), ada);
  for (const createdBy of [ada, "thread:parent", "thread:child", "thread:grandchild"])
    expect(owners.of(createdBy)).toBe(ada);
  owners.note(aThreadId("nightly-1"), "job:nightly");
  for (const createdBy of ["job:nightly", "job:weekly", "thread:nightly-1"])
    expect(owners.of(createdBy)).toBe("job");
  expect(owners.of("owner")).toBe("owner");
  expect(owners.of("thread:unknown")).toBe("thread:unknown");
});

test("a family that leads to itself ends, and of very many threads the newest are known", () => {
  const owners = new Owners();
  owners.note(aThreadId("a"), "thread:b");
  owners.note(aThreadId("b"), "thread:a");
  expect(owners.of("thread:a")).toMatch(/^thread:[ab]$/);
  for (let n = 0; n < 10_001; n++) owners.note(aThreadId(`t${n}`), "owner");
  expect([owners.of("thread:t0"), owners.of("thread:t10000")]).toEqual(["thread:t0", "owner"]);
});
