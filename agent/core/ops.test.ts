import { expect, test } from "vitest";
import { emptyFold, foldEvent } from "../../shared/agent/fold.ts";
import { parseInboxLine } from "../../shared/agent/inbox.ts";
import { OPS, type OpName } from "../../shared/agent/ops.ts";
import { rulesToTell } from "../../shared/agent/rules.ts";
import { engineControlLine } from "../engines/claude/control.ts";
import { inboxEvent } from "./inbox-events.ts";

const ts = "2026-11-22T10:00:00.000Z";
const FIELDS: Record<OpName, object> = {
  interrupt: { turnId: "t1" },
  pause: {},
  resume: {},
  compact: { text: "keep the names" },
  mode: { modeId: "plan" },
  model: { model: "opus" },
  limit: { limits: { turns: 3 } },
  undo: { turnId: "t1" },
  rules: { withdraw: ["Bash(ls)"] },
  mark: { why: "a request of the hook deploy" },
  unmark: {},
  kill: {},
  end_task: { taskId: "b1" },
};
const eventOf = (line: object) => inboxEvent(JSON.stringify(line), emptyFold(), false, (whole) => whole);

test.each(OPS)("%s keeps its fields from the inbox to the transcript", (op) => {
  const line = { ts, op, by: "discord:7", ...FIELDS[op] };
  expect(parseInboxLine(JSON.stringify(line))).toEqual(line);
  expect(eventOf(line)).toEqual({ type: "control", op, by: "discord:7", ...FIELDS[op] });
});

test("what waits for the engine is the op, and all of it is told", () => {
  const told = (["mode", "model", "compact", "end_task"] as const).map((op) => {
    const event = { ...eventOf({ ts, op, by: "discord:7", ...FIELDS[op] }), seq: 4, id: "i0.0", ts };
    const waiting = foldEvent(emptyFold(), event as never).pending[op];
    expect(waiting).toEqual({ seq: 4, op, by: "discord:7", ...FIELDS[op] });
    return waiting && engineControlLine(waiting);
  });
  expect(told).toEqual(
    ["plan", "opus", "/compact keep the names", "b1"].map((word) => expect.stringContaining(word)),
  );
});

test("an op without what it needs is no line: it becomes a notice, and nothing is done", () => {
  for (const op of ["mode", "model", "limit", "rules", "end_task"] as const)
    expect(eventOf({ ts, op, by: "discord:7" })).toMatchObject({ type: "notice", severity: "warning" });
});

test("a mark withdraws what was granted, and its lifting is told to an engine that was started with it", () => {
  const event = (seq: number, op: "mark" | "unmark") =>
    ({ ...eventOf({ ts, op, by: "job:deploy", ...FIELDS[op] }), seq, id: `i${seq}.0`, ts }) as never;
  const granted = { ...emptyFold(), grantedRules: ["Bash(ls)"] };
  const marked = foldEvent(granted, event(4, "mark"));
  expect(marked).toMatchObject({ grantedRules: [], marked: { seq: 4, why: "a request of the hook deploy" } });
  // Every engine is told, also one that was started afterwards.
  expect(rulesToTell(marked, 9)).toEqual({ seq: 4, ask: ["Bash(ls)"], isMarked: true });
  expect(foldEvent(marked, event(5, "mark")).marked?.seq).toBe(4);
  const trusted = foldEvent(marked, event(12, "unmark"));
  expect([trusted.marked, rulesToTell(trusted, 9)]).toEqual([undefined, { seq: 12, ask: ["Bash(ls)"] }]);
  expect(rulesToTell(trusted, 13)).toBeUndefined();
  const line = engineControlLine({ op: "rules", seq: 4, ask: [], isMarked: true });
  for (const tool of ["Bash", "Read", "Write", "WebFetch"]) expect(line).toContain(`"${tool}"`);
  expect(engineControlLine({ op: "rules", seq: 4, ask: [] })).not.toContain('"Read"');
});
