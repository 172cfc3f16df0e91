import { readdirSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ACTIONS, readPressed } from "./actions.ts";
import type { Action, AnyAction } from "./frame/action.ts";
import { action } from "./frame/action.ts";
import { optionId, someId } from "./frame/parts.ts";
import { permission } from "./permission.ts";

const folder = new URL("./", import.meta.url);
const actions = [...ACTIONS.values()] as (AnyAction & Action<object>)[];

/** Values of every example of every part. */
function valuesOf({ parts }: AnyAction): object[] {
  const keys = Object.keys(parts);
  const count = Math.max(1, ...Object.values(parts).map(({ examples }) => examples.length));
  return Array.from({ length: count }, (_, i) =>
    Object.fromEntries(keys.map((key) => [key, parts[key]?.examples[i % parts[key].examples.length]])),
  );
}

test("each file of actions/ is one action, and has its place in the registry", async () => {
  const files = readdirSync(folder).filter((name) => /^(?!actions\.).*\.ts$/.test(name));
  const made = await Promise.all(
    files.map(async (name) => {
      const exported: unknown[] = Object.values(await import(new URL(name, folder).href));
      const found = exported.filter((one) => actions.includes(one as never));
      expect(found, `${name} has one action, which ACTIONS lists`).toHaveLength(1);
      return found[0];
    }),
  );
  expect(new Set(made).size).toBe(files.length);
  // A second one with the same name would have taken the place of the first.
  expect(actions).toHaveLength(files.length);
});

test.each(actions.map((one) => [one.name, one] as const))(
  "%s: its ids come back as they went",
  (name, one) => {
    for (const value of valuesOf(one)) {
      const id = one.findId(value);
      expect(id?.split(":", 1)).toEqual([name]);
      expect(id?.length).toBeLessThanOrEqual(100);
      const pressed = readPressed(id ?? "");
      expect(pressed?.value).toEqual(value);
      expect(pressed?.action).toBe(one);
    }
  },
);

test("each action with a form has what is done with it, and no other", () => {
  for (const one of actions) {
    const [value = {}] = valuesOf(one);
    const { submit } = one.read(one.findId(value) ?? "") ?? {};
    expect([one.name, submit !== undefined]).toEqual([one.name, one.first === "form"]);
  }
});

test("an id that no action would make so is none", () => {
  const part = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom(
      "r1",
      "0",
      "007",
      "b12",
      "a",
      "0.1",
      "1.zzzzz",
      "1.0.0",
      "..",
      "%",
      "%3A",
      "x".repeat(90),
      "1e3",
    ),
    fc.constantFrom("123456789012345678", "0123456789abcdef", "agents", "constructor", "__proto__"),
  );
  const head = fc.constantFrom(...ACTIONS.keys(), "", "constructor", "__proto__", "KEY");
  fc.assert(
    fc.property(head, fc.array(part, { maxLength: 4 }), (name, parts) => {
      const id = [name, ...parts].join(":");
      const pressed = readPressed(id);
      // What is read is exactly what was written: no two ids mean the same, and none is half understood.
      if (pressed) expect((pressed.action as Action<unknown>).findId(pressed.value)).toBe(id);
    }),
    { numRuns: 2_000 },
  );
  for (const id of ["", ":", "ask", "ask:r1", "ask:r1:", "ask:r1:once:more", "ask::once", "done:", "go-on:1"])
    expect([id, readPressed(id)]).toEqual([id, undefined]);
  for (const id of [
    "answer:r1:01",
    "pick:r1:0.00",
    "key:Up,,Enter",
    "key:C-c;ls",
    "send:12",
    "kill-all:both:1",
  ])
    expect([id, readPressed(id)]).toEqual([id, undefined]);
  expect(readPressed(`ask:r1:${"x".repeat(94)}`)).toBeUndefined();
});

test("there is no button rather than one that would mean something else", () => {
  const look = ["Allow", "success"] as const;
  const of = (requestId: string, option: string) =>
    permission.buttons({ requestId, optionId: option }, ...look);
  expect(of("r1", "once")).toEqual([{ id: "ask:r1:once", label: "Allow", style: "success" }]);
  const [odd] = of("r1", "a:b%3Ac");
  expect(readPressed(odd?.id ?? "")?.value).toEqual({ requestId: "r1", optionId: "a:b%3Ac" });
  expect(of("r1", "x".repeat(93))).toHaveLength(1);
  expect(of("r1", "x".repeat(94))).toEqual([]);
  expect(of("no id", "once")).toEqual([]);
  expect(of("r1", "\ud800")).toEqual([]);
  expect(of("r1", "")).toEqual([]);
});

test("an action is its definition: parts in their order", () => {
  const made = action({
    name: "try",
    parts: { requestId: someId, optionId },
    right: "read",
    first: "update",
    run: () => Promise.resolve(),
  });
  expect(made.findId({ optionId: "b", requestId: "a" })).toBe("try:a:b");
});
