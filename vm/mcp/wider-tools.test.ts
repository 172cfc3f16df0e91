/** Which agents' tools are wider than which others'. */
import { expect, test } from "vitest";
import type { KeptGate } from "../../shared/agent/gates.ts";
import { hasWiderTools } from "./wider-tools.ts";

const ask: KeptGate = { at: "before_step", by: "person" };
const review: KeptGate = { at: "after_complete", by: "person" };

const WIDER: [one: Parameters<typeof hasWiderTools>[0], other: Parameters<typeof hasWiderTools>[1]][] = [
  [{}, { tools: ["Read"] }],
  [{ tools: ["Read", "Bash"] }, { tools: ["Read"] }],
  [{}, { disallowedTools: ["Bash"] }],
  [{ tools: ["Bash"] }, { disallowedTools: ["Bash"] }],
  [{ disallowedTools: ["Edit"] }, { disallowedTools: ["Bash"] }],
  [{}, { disallowedTools: ["Bash(rm *)"] }],
  [{ tools: ["Bash"] }, { disallowedTools: ["Bash(rm *)"] }],
  [{ tools: ["Bash(git *)"] }, { disallowedTools: ["Bash"] }],
  [{ tools: ["Bash"] }, { tools: ["Bash(git *)"] }],
  [{}, { gates: [ask] }],
  [{ gates: [{ ...ask, tool: "Bash" } as KeptGate] }, { gates: [ask] }],
];

const NOT_WIDER: typeof WIDER = [
  [{}, {}],
  [{ tools: ["Read"] }, {}],
  [{ tools: ["Read"] }, { tools: ["Read", "Bash"] }],
  [{ tools: ["Read", "Bash"], disallowedTools: ["Bash"] }, { tools: ["Read"] }],
  [{ tools: ["Read"] }, { disallowedTools: ["Bash"] }],
  [{ disallowedTools: ["Bash", "Edit"] }, { disallowedTools: ["Bash"] }],
  [{ disallowedTools: ["Bash"] }, { disallowedTools: ["Bash(rm *)"] }],
  [{ disallowedTools: ["Bash(rm *)"] }, { disallowedTools: ["Bash(rm *)"] }],
  [{ tools: ["Read"] }, { disallowedTools: ["Bash(rm *)"] }],
  [{ tools: ["Bash(git *)"] }, { tools: ["Bash"] }],
  [{ gates: [ask] }, {}],
  [{ gates: [ask, review] }, { gates: [ask] }],
  [{}, { gates: [review] }],
];

test.each(WIDER)("%j may do more than %j", (one, other) => {
  expect(hasWiderTools(one, other)).toBe(true);
});

test.each(NOT_WIDER)("%j may do no more than %j", (one, other) => {
  expect(hasWiderTools(one, other)).toBe(false);
});
