import fc from "fast-check";
import { expect, test } from "vitest";
import { boundLine, unboundLine } from "./bound.ts";
import { detailParts, inputParts } from "./detail.ts";
import type { EventOf } from "./events.ts";

const NAMES = [
  "command",
  "old_string",
  "new_string",
  "content",
  "url",
  "description",
  "plan",
  "patch",
  "file_path",
  "x",
];
const inputs = fc
  .uniqueArray(fc.constantFrom(...NAMES), { minLength: 1 })
  .map((names) => Object.fromEntries(names.map((name) => [name, `the ${name} of it`])));

// Promise: S33
test("nothing of a call's input is left out, whatever its fields are called", () => {
  fc.assert(
    fc.property(inputs, fc.boolean(), (input, isDescribed) => {
      const [subject = ""] = Object.values(input);
      const description = isDescribed ? input["description"] : undefined;
      const call = { title: `Tool ${subject}`, rawInput: input } as EventOf<"tool_call">;
      const request = {
        title: call.title,
        description,
        input: JSON.stringify(input),
      } as EventOf<"permission_request">;
      const asked = [call.title, description, ...detailParts(request, call).map(({ text }) => text)].join(
        "\n",
      );
      const given = [call.title, ...inputParts(call, false).map(({ text }) => text)].join("\n");
      for (const value of Object.values(input)) {
        expect(asked).toContain(value);
        expect(given).toContain(value);
      }
    }),
  );
});

test("a patch is shown as one, in its lines", () => {
  const patch = "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch";
  const call = { title: "apply_patch a", rawInput: { patch } } as unknown as EventOf<"tool_call">;
  const request = {
    title: "apply_patch a",
    input: JSON.stringify({ patch }),
  } as EventOf<"permission_request">;
  expect(detailParts(request, call)).toEqual([{ name: "", language: "diff", text: patch }]);
});

test("a description that is too long for a line stands in the parts, whole", () => {
  const description = "Create an issue. ".repeat(40);
  const input = { title: "Broken", description };
  const request = { title: "create_issue", description, input: JSON.stringify(input) };
  const [part] = detailParts(request as EventOf<"permission_request">, undefined);
  expect(part?.text).toContain(description);
});

test("only the field that made the title is left out, and only if the title shows it whole", () => {
  const shown = (title: string, input: Record<string, string>) => {
    const call = { title, rawInput: input } as EventOf<"tool_call">;
    const request = { title, input: JSON.stringify(input) } as EventOf<"permission_request">;
    return [detailParts(request, call), inputParts(call, false)].map((parts) =>
      parts.map(({ text }) => text).join("\n"),
    );
  };
  for (const text of shown("Bash deploy", { command: "deploy", cwd: "/srv/production/deploy" }))
    expect(text).toContain("/srv/production/deploy");
  for (const text of shown("Bash deploy", { command: "deploy", target: "deploy" }))
    expect(text).toContain("target");
  for (const text of shown("Write a b", { file_path: "a b", content: "b" })) expect(text).toBe("b");
  for (const text of shown("Read src/a.ts", { file_path: "/repo/src/a.ts" })) expect(text).toBe("");
  const hidden = `a${"\u200b".repeat(140)}/etc/shadow`;
  for (const text of shown(`Read ${hidden}`, { file_path: hidden })) expect(text).toContain("/etc/shadow");
  const long = `${"a/".repeat(80)}end`;
  for (const text of shown(`Read ${long}`, { file_path: long })) expect(text).toContain("end");
});

test("what a title or a line shows otherwise than it is stands in the parts too", () => {
  const shown = (title: string, input: Record<string, unknown>, more: object = {}) => {
    const call = { title, rawInput: input } as EventOf<"tool_call">;
    const request = { title, input: JSON.stringify(input), ...more } as EventOf<"permission_request">;
    return detailParts(request, call)
      .map(({ text }) => text)
      .join("\n");
  };
  // A link in the directory leads elsewhere, and up from there is not up from the directory.
  for (const path of ["/repo/link/../key", "/repo/a/b/../../key"])
    expect(shown("Write key", { file_path: path, content: "x" })).toContain(path);
  expect(shown("Read a``b", { file_path: "a``b" })).toContain("a``b");
  expect(shown("Glob a  b", { pattern: "a  b" })).toContain("a  b");
  const described = (description: string, title = "Bash x") =>
    shown(title, { command: "x", description }, { description });
  expect(described("deploy", "Bash x --deploy")).toContain("description");
  for (const cut of ["*".repeat(199), `${"_".repeat(150)} end`, "a\n\n\nb", "a  b"])
    expect(described(cut)).toContain(JSON.stringify(cut));
  expect(described("Deploys it, to be sure.")).toBe("x");
});

test("an ask about a plan shows what else it is given", () => {
  const rawInput = {
    plan: "# Plan",
    planFilePath: "/home/a/plan.md",
    allowedPrompts: [{ prompt: "run tests" }],
  };
  const plan = { plan: "# Plan", title: "ExitPlanMode run tests", input: JSON.stringify(rawInput) };
  const request = plan as EventOf<"permission_request">;
  const parts = detailParts(request, { rawInput } as unknown as EventOf<"tool_call">);
  expect(parts.map(({ text }) => text)).toEqual(["# Plan", 'allowedPrompts: [{"prompt":"run tests"}]']);
  const [, other] = detailParts({ ...request, input: '{"command":"run tests"}' }, undefined);
  expect(other?.text).toBe('command: "run tests"');
});

// Promise: S33
test("an ask tells its own input, whatever was said of its call", () => {
  const told = (input: object, rawInput: unknown, blobs?: object) => {
    const text = JSON.stringify(input);
    const cut = text.length > 2_000 ? `${text.slice(0, 1_999)}…` : text;
    const call = { title: "Bash", rawInput, blobs } as unknown as EventOf<"tool_call">;
    return detailParts({ title: "Bash", input: cut } as EventOf<"permission_request">, call)
      .map((part) => part.text)
      .join("\n");
  };
  // An agent has told a call before it knew all of it, or something else has told another one by the same id.
  expect(told({ command: "rm -r x" }, { command: "ls" })).toBe("rm -r x");
  expect(told({ command: "git push", force: true }, { command: "git push" })).toContain("force: true");
  const long = `rm -r ${"x".repeat(3_000)}`;
  expect(told({ command: long }, { command: "ls" })).toContain("rm -r");
  expect(told({ command: long }, { command: "ls" })).not.toContain("ls");
  expect(told({ command: long, end: 1 }, { command: long, end: 1 })).toBe(`${long}\nend: 1`);
  expect(told({ a: [{ plan: "p" }], command: long }, { command: long })).toContain("plan");
  // The transcript has excerpts of what is too long for a line.
  const [huge, many] = ["y".repeat(600_000), Array.from({ length: 100_000 }, (_, n) => n)];
  for (const input of [{ command: huge }, { command: "c", many }, { command: "c", deep: { many } }]) {
    const call = { type: "tool_call", rawInput: input };
    const { value, blobs } = boundLine(call);
    expect(blobs).toHaveLength(1);
    const shown = told(input, value.rawInput, value.blobs);
    expect(shown).toContain(shown.startsWith("yy") ? "bytes left out" : "c");
    const whole = unboundLine(value, (hash) => blobs.find(({ sha256 }) => sha256 === hash)?.body.toString());
    expect(told(input, whole.rawInput, whole.blobs).length).toBeGreaterThan(500_000);
  }
});
