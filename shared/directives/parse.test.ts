import { expect, test } from "vitest";
import { describeFault } from "./fault.ts";
import { parseDirective } from "./parse.ts";

const parse = (text: string | Uint8Array) =>
  parseDirective("a.md", typeof text === "string" ? Buffer.from(text) : text);
const faultsOf = (text: string | Uint8Array) => (parse(text).faults ?? []).map(describeFault);

const REVIEWER = `---
name: reviewer
description: Reviews changes
model: sonnet
tools: Read, Grep, Bash(git log *)
permissionMode: plan
color: blue
threadmux:
  engine: claude
  mode: single
  limits: { turns: 3, spendUsd: 2 }
  inputs:
    target: { type: enum, values: [staging, prod] }
    depth: { type: number, min: 1, max: 9, default: 2 }
---

Review {{target}}, {{depth}} deep.
`;

test("a file is read as Claude Code's and ours", () => {
  expect(parse(REVIEWER).directive).toEqual({
    name: "reviewer",
    description: "Reviews changes",
    text: "Review {{target}}, {{depth}} deep.",
    tools: ["Read", "Grep", "Bash"],
    model: "sonnet",
    permissionMode: "plan",
    engine: "claude",
    mode: "single",
    limits: { turns: 3, spendUsd: 2 },
    inputs: {
      target: { type: "enum", values: ["staging", "prod"] },
      depth: { type: "number", min: 1, max: 9, default: 2 },
    },
    notes: ["tools: Bash(git log *) gives all of Bash."],
  });
});

test("a subagent file without our block is a directive, and what is not honoured is said", () => {
  const { directive } = parse(
    "---\nname: a\ndescription: b\nmodel: inherit\neffort: max\nhooks: { Stop: [] }\nfoo: 1\ntools:\n---\nUse {{ x }} and {{name}}.",
  );
  expect(directive).toMatchObject({ name: "a", limits: {}, inputs: {}, text: "Use {{ x }} and {{name}}." });
  expect(directive).not.toHaveProperty("model");
  expect(directive).not.toHaveProperty("tools");
  expect(directive?.notes.join("\n")).toMatch(/hooks: is not honoured.*foo: is not.*effort: is not/s);
});

test("CRLF and a byte order mark change nothing", () => {
  const plain = parse(REVIEWER);
  expect(plain.directive).toBeDefined();
  expect(parse(`\ufeff${REVIEWER.replaceAll("\n", "\r\n")}`)).toEqual(plain);
});

const head = (lines: string, text = "text") => `---\n${lines}\n---\n${text}`;
const good = "name: a\ndescription: b";

test.each([
  ["no head", "name: a", /^a\.md:1: head: is missing/],
  ["an empty file", "", /^a\.md:1: head: is missing/],
  ["an unclosed head", "---\nname: a\n", /^a\.md:1: head: is not closed/],
  ["three hyphens in a line", head("name: a\ndescription: b --- c"), /^a\.md:3: head: holds "---"/],
  ["no name", head("description: b"), /^a\.md:1: name: is missing$/],
  ["no description", head("name: a"), /^a\.md:1: description: is missing$/],
  ["no text", head(good, " \n\n"), /^a\.md:\d: text: is missing/],
  ["a name of other characters", head("name: ../a\ndescription: b"), /^a\.md:2: name: must be 1 to 64 of/],
  ["a name that is a number", head("name: 12\ndescription: b"), /^a\.md:2: name: must be text/],
  ["a tool that is a flag", head(`${good}\ntools: Read, --x`), /^a\.md:4: tools\.1: must name a tool/],
  ["a word that is no mode", head(`${good}\npermissionMode: planned`), /^a\.md:4: permissionMode: must be/],
  [
    "a field of ours that is unknown",
    head(`${good}\nthreadmux:\n  limit: 3`),
    /^a\.md:5: threadmux\.limit: is no field/,
  ],
  [
    "a limit that is misspelt",
    head(`${good}\nthreadmux:\n  limits:\n    turn: 3`),
    /^a\.md:6: threadmux\.limits\.turn: is no/,
  ],
  [
    "a voice that is none",
    head(`${good}\nthreadmux:\n  mode: single\n  voice: loud`),
    /^a\.md:6: threadmux\.voice: must be message/,
  ],
  [
    "gates",
    head(`${good}\nthreadmux: { gates: [{ at: sometimes, by: person }] }`),
    /^a\.md:4: threadmux\.gates\.0\.at: must be one of before_step/,
  ],
  ["our block as a text", head(`${good}\nthreadmux: yes`), /^a\.md:4: threadmux: must be a block/],
  [
    "another engine",
    head(`${good}\nthreadmux: { engine: gpt }`),
    /^a\.md:4: threadmux\.engine: must be one of/,
  ],
  [
    "an engine without system text",
    head(`${good}\nthreadmux: { engine: command }`),
    /:4: threadmux\.engine: command takes no/,
  ],
  [
    "isolation and workspace",
    head(`${good}\nisolation: worktree\nthreadmux: { workspace: shared }`),
    /:5: threadmux\.workspace: contradicts/,
  ],
  [
    "a tool given and taken",
    head(`${good}\ntools: Bash\ndisallowedTools: Bash`),
    /:5: disallowedTools: contradicts tools/,
  ],
  [
    "an input without a type",
    head(`${good}\nthreadmux:\n  inputs:\n    x: {}`),
    /:6: threadmux\.inputs\.x.*: must have a type/,
  ],
  [
    "an input's default",
    head(`${good}\nthreadmux:\n  inputs:\n    x:\n      type: number\n      default: 3\n      max: 2`),
    /:8: threadmux\.inputs\.x\.default: must be at most 2/,
  ],
  [
    "an input nobody declared",
    head(`${good}\nthreadmux: { inputs: { x: { type: id } } }`, "\na\n{{y}}"),
    /:8: text: \{\{y\}\} is no input/,
  ],
  [
    "free text in the system text",
    head(`${good}\nthreadmux: { inputs: { x: { type: text } } }`, "{{x}}"),
    /:6: text: \{\{x\}\} can't stand here/,
  ],
  ["a list", head("- a"), /^a\.md:\d: head: must be a block/],
  ["a name twice", head("name: a\ndescription: b\nname: c"), /^a\.md:4: name: Map keys must be unique/],
  [
    "a name twice, deep down",
    head(`${good}\nthreadmux:\n  limits:\n    turns: 1\n    turns: 2`),
    /:7: threadmux\.limits\.turns: Map keys/,
  ],
  ["a tag", head(`${good}\nmodel: !!str x`), /^a\.md:4: model: has a tag/],
  ["a tag of code", head(`${good}\nx: !!js/function "a"`), /^a\.md:4: x: /],
  [
    "__proto__",
    head(`${good}\n__proto__: { x: 1 }`),
    /^a\.md:4: __proto__: must not be a name that every object/,
  ],
  [
    "__proto__ in our block",
    head(`${good}\nthreadmux:\n  __proto__: 1`),
    /^a\.md:5: threadmux\.__proto__: must not be/,
  ],
  [
    "an input by such a name",
    head(`${good}\nthreadmux:\n  inputs:\n    constructor: { type: id }`),
    /:6: threadmux\.inputs\.constructor: must not/,
  ],
  ["an alias for nothing", head(`${good}\nmodel: *x`), /^a\.md:4: model: /],
  ["an alias of itself", head(`${good}\nx: &x\n  y: *x`), /^a\.md:5: x\.y/],
  ["a second document", head(`${good}\n...\nname: b`), /^a\.md:\d: /],
  ["a tab", head(`${good}\nthreadmux:\n\tmode: single`), /^a\.md:5: threadmux(\.mode)?: Tabs/],
  ["a NUL", head(`${good}\nmodel: a\0b`), /^a\.md:4: file: holds the control character U\+0000/],
  ["a lone CR", head(good, "x\ry"), /^a\.md:5: file: holds the control character U\+000D/],
] as const)("%s is a fault with file, line and field", (_name, text, expected) => {
  const faults = faultsOf(text);
  expect(faults.join("\n")).toMatch(expected);
  expect(faults[0]).toMatch(expected);
});

test("bytes that are no text have a line too", () => {
  expect(faultsOf(Buffer.concat([Buffer.from("---\nname: a\n"), Buffer.from([0xff, 0xfe])]))).toEqual([
    "a.md:3: file: is no UTF-8 text",
  ]);
  expect(faultsOf(Buffer.from(REVIEWER, "utf16le"))[0]).toMatch(/^a\.md:\d+: file: /);
  expect(faultsOf(Buffer.alloc(1024 * 1024, "a"))).toEqual([
    "a.md:1: file: has 1,048,576 bytes; at most 262,144",
  ]);
});

const bombs: [string, string][] = [
  [
    "aliases of aliases",
    Array.from({ length: 20 }, (_, i) =>
      i === 0 ? "a0: &a0 [x, x]" : `a${i}: &a${i} [*a${i - 1}, *a${i - 1}, *a${i - 1}]`,
    ).join("\n"),
  ],
  ["lists in lists", `x: ${"[".repeat(30_000)}`],
  ["lists in lists, closed", `x: ${"[".repeat(500)}${"]".repeat(500)}`],
  ["maps in maps", `x: ${"{a: ".repeat(7_000)}`],
  ["hyphens", `x:\n${"- ".repeat(15_000)}`],
  ["many names", Array.from({ length: 4_000 }, (_, i) => `k${i}: x`).join("\n")],
  ["many commas", `x: [${",".repeat(30_000)}`],
  ["many ends", "]".repeat(30_000)],
  ["many tags", "!a ".repeat(10_000)],
  ["many documents", "...\n".repeat(8_000)],
  ["a head of its own size", `x: ${"y".repeat(40_000)}`],
];

test.each(bombs)("%s cost little, and are a fault with a line", (_name, bomb) => {
  const before = process.cpuUsage();
  const faults = faultsOf(head(`${good}\n${bomb}`));
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_500);
  expect(faults.length).toBeGreaterThan(0);
  expect(faults.length).toBeLessThanOrEqual(20);
  for (const fault of faults) expect(fault).toMatch(/^a\.md:\d+: [^:]+: .{1,300}$/);
});

/** A line that is put somewhere into a good file, and the fault that it must be. */
const WRONG: [block: "top" | "ours" | "inputs", line: string, field: string][] = [
  ["top", "permissionMode: bypass", "permissionMode"],
  ["top", "maxTurns: -1", "maxTurns"],
  ["top", "maxTurns: many", "maxTurns"],
  ["top", "tools: [1]", "tools.0"],
  ["top", "tools: { a: b }", "tools"],
  ["top", "disallowedTools: 'a b'", "disallowedTools.0"],
  ["top", "model: []", "model"],
  ["top", "effort: [x]", "effort"],
  ["top", "prototype: !x 1", "prototype"],
  ["top", "hasOwnProperty: 1", "hasOwnProperty"],
  ["ours", "voice: loud", "threadmux.voice"],
  ["ours", "gates: {}", "threadmux.gates"],
  ["ours", "gates: [{ at: before_step }]", "threadmux.gates.0.by"],
  ["ours", "gates: [{ at: before_step, by: 'directive:' }]", "threadmux.gates.0.by"],
  ["ours", "gates: [{ at: on_limit, by: 'directive: a' }]", "threadmux.gates.0.by"],
  ["ours", "gates: [{ at: before_step, by: person, when: now }]", "threadmux.gates.0.when"],
  ["ours", "gates: [{ at: on_limit, if: { tool: Bash }, by: person }]", "threadmux.gates.0.if.tool"],
  [
    "ours",
    "gates: [{ at: after_step, if: { every: 5, tool: A }, by: person }]",
    "threadmux.gates.0.if.every",
  ],
  ["ours", "gates: [{ at: on_error, by: person, then: fail }]", "threadmux.gates.0.then"],
  ["ours", "mode: both", "threadmux.mode"],
  ["ours", "workspace: [shared]", "threadmux.workspace"],
  ["ours", "limits: { turns: 0 }", "threadmux.limits.turns"],
  ["ours", "limits: { spendUsd: free }", "threadmux.limits.spendUsd"],
  ["ours", "limits: [1]", "threadmux.limits"],
  ["ours", "outputSchema: text", "threadmux.outputSchema"],
  ["ours", "spawn: later", "threadmux.spawn"],
  ["ours", "engines: claude", "threadmux.engines"],
  ["inputs", "one: { type: enum }", "threadmux.inputs.one.values"],
  ["inputs", "one: { type: enum, values: [a, a] }", "threadmux.inputs.one.values"],
  ["inputs", "one: { type: number, min: 2, max: 1 }", "threadmux.inputs.one.min"],
  ["inputs", "one: { type: id, default: 'a b' }", "threadmux.inputs.one.default"],
  ["inputs", "one: { type: boolean, default: 1 }", "threadmux.inputs.one.default"],
  ["inputs", "one: { type: id, what: 1 }", "threadmux.inputs.one.what"],
  ["inputs", "1one: { type: id }", "threadmux.inputs.1one"],
];

/** Lines that are right, among which the wrong one stands. */
const FILLERS = {
  top: ["# a remark", "color: red", "memory: user", "", "background: true"],
  ours: ["  # a remark", "", "  engine: demo"],
  inputs: ["    two: { type: number }", "    # a remark", "    three:\n      type: boolean"],
};

test("of 200 faulty files each fault is named with its line", () => {
  let seed = 28;
  const random = (max: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * max);
  };
  const some = (lines: readonly string[]) => lines.filter(() => random(2) === 0);
  for (let at = 0; at < 200; at++) {
    const [block, line, field] = WRONG[at % WRONG.length] ?? ["top", "", ""];
    const place = (name: keyof typeof FILLERS, indent: string) => {
      const lines = some(FILLERS[name]);
      if (block === name) lines.splice(random(lines.length + 1), 0, indent + line);
      return lines;
    };
    const lines = ["name: a", "description: >", "  some", "  words", ...place("top", "")];
    const ours = [...place("ours", "  "), "  inputs:", "    zero: { type: id }", ...place("inputs", "    ")];
    const ends = random(2) === 0 ? "\r\n" : "\n";
    const file = ["---", ...lines, "threadmux:", ...ours, "---", "text {{zero}}"].join("\n");
    const wanted = file.split("\n").findIndex((one) => one.trim() === line) + 1;
    const { faults = [] } = parse(file.replaceAll("\n", ends));
    expect(
      faults.map((fault) => [fault.line, fault.field]),
      file,
    ).toEqual([[wanted, field]]);
  }
});

test("bytes changed at random never throw, and each fault has its line", () => {
  let seed = 7;
  const random = (max: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * max);
  };
  for (let at = 0; at < 100; at++) {
    const bytes = Buffer.from(REVIEWER);
    for (let change = 0; change < 3; change++)
      bytes[random(bytes.length)] = "\n:{[&*!'\"-\0\xff|>%@`"[random(18)]?.charCodeAt(0) ?? 0;
    const { faults = [], directive } = parse(bytes);
    expect(faults.length > 0).toBe(directive === undefined);
    const lines = bytes.toString("latin1").split("\n").length;
    for (const { line } of faults) {
      expect(line).toBeGreaterThanOrEqual(1);
      expect(line).toBeLessThanOrEqual(lines);
    }
  }
});
