import { expect, test } from "vitest";
import { judge, optionsOf } from "./permissions.ts";

const NONE: ReadonlySet<string> = new Set();
const run = (subject: string) => ({ name: "bash", asksAs: "bash" as const, subject });
const ruleOf = (subject: string) => {
  const judged = judge(run(subject), "default", NONE);
  return judged.is === "ask" ? judged.rule : undefined;
};

test.each([
  ["plan", "run", "refused", "ask", "ask"],
  ["default", "run", "ask", "ask", "ask"],
  ["acceptEdits", "run", "run", "ask", "ask"],
  ["bypassPermissions", "run", "run", "run", "run"],
])("the mode %s: reading %s, files %s, commands %s, secrets %s", (mode, ...wanted) => {
  const of = (asksAs: "nothing" | "write" | "bash" | "always") =>
    judge({ name: "x", asksAs, subject: "ls" }, mode, NONE).is;
  expect((["nothing", "write", "bash", "always"] as const).map(of)).toEqual(wanted);
});

test("a rule is for a command's first two words, and for nothing but words", () => {
  expect(ruleOf("npm test -- --watch")).toBe("bash(npm test:*)");
  expect(ruleOf("ls")).toBe("bash(ls:*)");
  const others = [
    "a; b",
    "a && b",
    "a | b",
    "a $(b)",
    "a `b`",
    "a > b",
    "a\nb",
    "a 'b'",
    "a  b",
    "sudo a",
    "sh -c a",
  ];
  for (const command of [...others, "env A=1 b", "a \u202e b"])
    expect(ruleOf(command), command).toBeUndefined();
});

test("a granted rule lets its commands run, and no other", () => {
  const rules = new Set(["bash(npm test:*)"]);
  const isRun = (command: string) => judge(run(command), "default", rules).is === "run";
  expect(["npm test", "npm test -u"].every(isRun)).toBe(true);
  const others = [
    "npm tests",
    "npm",
    "npm test; rm x",
    "npm test && a",
    "npm test $(a)",
    "npm  test",
    "npm test\nrm x",
  ];
  for (const command of others) expect(isRun(command), command).toBe(false);
  expect(judge({ ...run("npm test"), name: "other" }, "default", rules).is).toBe("ask");
  expect(judge({ ...run("npm test"), asksAs: "always" }, "default", rules)).toEqual({ is: "ask" });
});

test("a server's tool is allowed for the thread by its name", () => {
  const call = { name: "mcp__web__open", asksAs: "tool" as const, subject: "example.org" };
  const rules = new Set(["mcp__web__open"]);
  expect(judge(call, "default", NONE)).toEqual({ is: "ask", rule: "mcp__web__open" });
  expect(judge(call, "acceptEdits", NONE).is).toBe("ask");
  expect(judge(call, "default", rules).is).toBe("run");
  expect(judge(call, "plan", rules).is).toBe("ask");
  expect(judge({ ...call, name: "mcp__web__close" }, "default", rules).is).toBe("ask");
  expect(judge({ ...call, name: "mcp__web__\u202e" }, "default", NONE)).toEqual({ is: "ask" });
  expect(optionsOf("mcp__web__open")[1]?.name).toBe("Allow mcp__web__open in this thread");
});

test("edits are allowed for the thread by one rule", () => {
  const edit = { name: "edit", asksAs: "write" as const, subject: "a.ts" };
  expect(judge(edit, "default", NONE)).toEqual({ is: "ask", rule: "write" });
  expect(judge(edit, "default", new Set(["write"])).is).toBe("run");
  expect(judge(edit, "plan", new Set(["write"])).is).toBe("refused");
  expect(optionsOf("write").map(({ name }) => name)).toEqual([
    "Allow once",
    "Allow edits in this thread",
    "Deny",
  ]);
  expect(optionsOf("bash(npm test:*)")[1]?.name).toBe('Allow "npm test *" in this thread');
});
