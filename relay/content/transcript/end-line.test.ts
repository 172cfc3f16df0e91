import { expect, test } from "vitest";
import type { EventBody } from "../../../shared/agent/events.ts";
import { TranscriptContent } from "./content.ts";
import { withoutFolders } from "./inline.ts";
import {
  ask,
  call,
  deliver,
  done,
  end,
  feedRest,
  numbered,
  restart,
  type Shown,
  STARTER,
  say,
  show,
  start,
  texts,
} from "./testing/events.ts";

test.each([
  ["/srv/repos/shop is in no git work tree"],
  ["git add: fatal: Unable to create '/srv/repos/my shop/.git/index.lock': File exists."],
  ['error: open("/srv/repos/shop/a.txt"): Permission denied'],
  ["ENOENT: no such file or directory, mkdir '/srv/state/threads/1/undo'"],
])("an end line and a refused undo name no folder of the VM: %s", (problem) => {
  const changes: EventBody = { type: "turn_changes", turnId: "t1", files: 0, added: 0, removed: 0, problem };
  const undo: EventBody = {
    type: "undo",
    undoId: "u1",
    target: "t1",
    by: "owner",
    status: "refused",
    files: 0,
    restored: [],
    left: [],
    leftCount: 0,
    message: problem,
  };
  const shown = texts(
    show([start, call("c1", "Bash", "Bash ls", {}), done("c1"), changes, say("Done."), end, undo]),
  );
  expect(shown.at(-2)).toContain("no undo: ");
  expect(shown.at(-1)).toContain("Nothing was undone: ");
  expect(shown.slice(-2).join("\n")).not.toMatch(/srv|\/repos|\/state/);
});

test("after a limit the end line tells what the whole turn used, over a new relay too", () => {
  const chat = (id: string, inputTokens: number): EventBody[] => [
    { type: "step_start", stepId: id, kind: "chat", title: "Calling LLM" },
    {
      type: "step_end",
      stepId: id,
      status: "completed",
      durationMs: 5,
      usage: { inputTokens, outputTokens: 1_000 },
    },
  ];
  const piece = (turnId: string, cause: "message" | "resume"): EventBody[] => [
    { ...start, turnId, cause } as EventBody,
    ...chat(`s${turnId}`, 20_000),
    call(turnId, "Bash", "Bash ls", {}),
    done(turnId),
  ];
  const events = numbered([
    ...piece("t1", "message"),
    { type: "spend_update", cost: { amount: 0.5, currency: "USD" } },
    { type: "turn_end", turnId: "t1", stopReason: "interrupted" },
    ...piece("t2", "resume"),
    say("Done."),
    { ...end, turnId: "t2" } as EventBody,
    ...piece("t3", "message"),
    say("Again."),
    { ...end, turnId: "t3" } as EventBody,
  ]);
  for (const restarts of [false, true]) {
    let content = new TranscriptContent({ starter: STARTER });
    const shown: Shown = new Map();
    for (let i = 1; i <= events.length; i++) {
      feedRest(content, events.slice(0, i));
      deliver(content, shown);
      if (restarts) content = restart(content, events.slice(0, i));
    }
    const lines = [...shown.values()].flatMap(({ text }) =>
      text.split("\n").filter((line) => line.includes("tokens")),
    );
    expect(lines).toEqual([
      "-# 1 step · 21.0k tokens · $0.50",
      "-# 2 steps · 1 min 32 s · 66.2k tokens · $0.71",
      "-# 1 step · 1 min 32 s · 45.2k tokens · $0.21",
    ]);
    expect(content.mark()?.seq).toBe(events.length + 1);
  }
});

const limit = { name: "tokens", allowed: 1, used: 2 };
const cutOff: EventBody = { type: "turn_end", turnId: "t1", stopReason: "interrupted" };
const gone = (reason: "parked" | "paused" | "crashed"): EventBody => ({
  type: "engine_end",
  generation: 1,
  reason,
});
const push = call("c1", "Bash", "Bash git push", {});

test.each([
  { told: "⚡ Cut off.", events: [push, cutOff, gone("crashed")] },
  { told: "⚡ Cut off.", events: [push, cutOff] },
  { told: "⏸ Paused.", events: [push, cutOff, gone("paused")] },
  { told: "⏸ Paused.", events: [push, ask("q1", "c1"), cutOff, gone("paused")] },
  { told: "⏸ Goes on once the ask is answered.", events: [push, ask("q1", "c1"), cutOff, gone("parked")] },
  { told: "⏳ Stopped at a limit.", events: [push, ask("q1", "", { limit }), cutOff, gone("parked")] },
  { told: "⏳ Stopped at a limit.", events: [say("Now."), cutOff, gone("parked")] },
  {
    told: "⏳ The provider takes no more calls for now.",
    events: [push, { ...cutOff, usageLimit: { message: "limit" } } as EventBody, gone("crashed")],
  },
])("a turn that ends before its time says why: $told", ({ told, events: more }) => {
  const events = numbered([start, ...more, { ...start, turnId: "t2", cause: "resume" } as EventBody]);
  for (const restarts of [false, true]) {
    let content = new TranscriptContent({ starter: STARTER });
    const shown: Shown = new Map();
    // Wherever a look at the transcript ends.
    for (let i = 1; i <= events.length; i++) {
      feedRest(content, events.slice(0, i));
      deliver(content, shown);
      if (restarts) content = restart(content, events.slice(0, i));
    }
    const ends = [...shown.values()]
      .map(({ text }) => text.split("\n"))
      .filter((lines) => /^-# (1 step|done)$/.test(lines.at(-1) ?? ""));
    expect(ends.map((lines) => lines.at(-2))).toEqual([told]);
  }
});

test("of a path its file's name stays, and an address stays whole", () => {
  expect(withoutFolders("Unable to create '/a b/.git/index.lock': File exists")).toBe(
    "Unable to create 'index.lock': File exists",
  );
  expect(withoutFolders("see https://example.com/a/b and src/a.ts")).toBe(
    "see https://example.com/a/b and src/a.ts",
  );
  const long = `${"/:".repeat(50_000)}${"'/a".repeat(50_000)}`;
  const before = performance.now();
  withoutFolders(long);
  expect(performance.now() - before).toBeLessThan(1_000);
});
