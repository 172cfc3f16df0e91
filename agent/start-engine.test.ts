import { expect, test } from "vitest";
import type { ThreadConfig } from "../shared/agent/config.ts";
import { emptyFold } from "../shared/agent/fold.ts";
import { forkPoint } from "./start-engine.ts";

// A conversation whose very fork kills the engine would otherwise be forked for ever.
test("a branch whose first processes die leaves the conversation twice, then it begins from the transcript", () => {
  const config = { origin: { sessionId: "parent", at: "line" } } as unknown as ThreadConfig;
  const after = (count: number) => forkPoint({ ...emptyFold(), cutOffs: { count, at: null } }, config);
  expect(after(0)).toEqual({ sessionId: "parent", at: "line" });
  expect(after(1)).toEqual({ sessionId: "parent", at: "line" });
  expect(after(2)).toBeUndefined();
});
