import { expect, test } from "vitest";
import type { EventBody, ThreadEvent } from "../../../shared/agent/events.ts";
import { modelLine, plainSections, renderSections, stepSections } from "./details.ts";

function numbered(...bodies: EventBody[]): ThreadEvent[] {
  const ts = "2026-01-01T00:00:00.000Z";
  return bodies.map((body, i) => ({ ...body, seq: i + 1, id: `r${i + 1}.0`, ts }) as ThreadEvent);
}
const call = (id: string, title: string, rawInput: unknown): EventBody => ({
  type: "tool_call",
  toolCallId: id,
  at: "u",
  name: "Any",
  title,
  kind: "other",
  rawInput,
});

test("a plan stands there as it is read, and a step without a result says so", () => {
  const events = numbered(call("c1", "ExitPlanMode", { plan: "# Plan\n1. one" }));
  const sections = stepSections(events, 1, 2);
  expect(renderSections("head", sections)).toEqual({
    text: "head\n**◌ ExitPlanMode · runs**\n```md\n# Plan\n1. one\n```",
    isClipped: false,
  });
  const over = [...events, { ...events[0], seq: 2, type: "turn_end", turnId: "t", stopReason: "end_turn" }];
  expect(stepSections(over as ThreadEvent[], 1, 3)[0]?.title).toBe("✗ ExitPlanMode · no result");
});

test("however many steps there are, a message fits, counts what it leaves out, and the file has all", () => {
  for (const count of [1, 15, 40, 300]) {
    const bodies = Array.from({ length: count }, (_, i) =>
      call(`c${i}`, `Bash *step* ${i}`, { command: `${"long ".repeat(200)}${i}`, description: "why\u202e" }),
    );
    const sections = stepSections(numbered(...bodies), 1, count + 1);
    const { text, isClipped } = renderSections("head", sections, "-# below");
    expect(text.length).toBeLessThanOrEqual(2_000);
    expect(text).toContain("-# below");
    expect(isClipped).toBe(count > 1);
    if (count === 300) expect(text).toMatch(/… and \d+ more$/);
    const file = plainSections(sections, 1_000_000);
    expect(file.match(/^## ◌ Bash \*step\* /gm)).toHaveLength(count);
    expect(file).toContain("why⟨U+202E⟩");
  }
  const many = stepSections(numbered(call("a", "A", { content: "x".repeat(100) }), call("b", "B", {})), 1, 3);
  expect(plainSections(many, 50)).toMatch(/## … and 1 more\n$/);
});

test("a turn without a call of the model names none; those that it had are counted", () => {
  expect(modelLine(numbered(call("c1", "Bash ls", {})))).toBe("");
  const usage = { inputTokens: 1_200, outputTokens: 30, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const end = { type: "step_end", turnId: "t", model: "m-1", usage } as unknown as EventBody;
  expect(modelLine(numbered(end))).toContain("1 call of the model");
  expect(modelLine(numbered(end, end))).toMatch(/m-1.*2 calls of the model.*60 out/);
});
