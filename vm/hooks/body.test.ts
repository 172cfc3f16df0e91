import { expect, test } from "vitest";
import { hookConditionSchema, hookTemplateSchema } from "../../shared/hooks/settings.ts";
import { doesFit, fillTemplate, findAt, parseBody } from "./body.ts";

const EVENT = {
  action: "opened",
  number: 7,
  draft: false,
  "a/b": { "~": ["x", null] },
  sender: { login: "alice" },
};
const body = parseBody(Buffer.from(JSON.stringify(EVENT)));

test("a pointer names what is there, and nothing that an object has by itself", () => {
  expect(findAt(EVENT, "/a~1b/~0/0")).toEqual({ value: "x" });
  expect(findAt(EVENT, "/a~1b/~0/1")).toEqual({ value: null });
  for (const pointer of ["/nope", "/number/0", "/a~1b/~0/2", "/a~1b/~0/length", "/a~1b/~0/00", "/__proto__"])
    expect(findAt(EVENT, pointer), pointer).toBeUndefined();
  expect(findAt("text", "/0")).toBeUndefined();
  expect(findAt(undefined, "/constructor")).toBeUndefined();
});

test("a request counts if every condition holds", () => {
  const fits = (...filter: object[]) =>
    doesFit(
      body,
      filter.map((one) => hookConditionSchema.parse(one)),
    );
  expect(fits()).toBe(true);
  expect(fits({ path: "/action", equals: "opened" }, { path: "/draft", equals: false })).toBe(true);
  expect(fits({ path: "/action", equals: "opened" }, { path: "/number", equals: "7" })).toBe(false);
  expect(fits({ path: "/number", in: [6, 7] })).toBe(true);
  expect(fits({ path: "/nope", in: [null] })).toBe(false);
  expect(fits({ path: "/a~1b/~0/1", equals: null })).toBe(true);
  expect(fits({ path: "/sender", exists: true }, { path: "/nope", exists: false })).toBe(true);
  expect(fits({ path: "/sender", equals: "alice" })).toBe(false);
});

test("a filter, or a template with fields, on no JSON is refused in words that say why", () => {
  const filter = [{ path: "/action", equals: "opened" }];
  for (const text of ["", "payload=%7B%7D", "{", "\uFFFD{}", "{}x"]) {
    const none = parseBody(Buffer.from(text));
    expect(() => doesFit(none, filter), text).toThrow("filter: it looks at /action, and the body is no JSON");
    expect(() => fillTemplate("by {/sender/login}", none), text).toThrow("template: it takes /sender/login");
    expect(doesFit(none, [])).toBe(true);
    expect(fillTemplate("A deploy is done.", none)).toEqual([{ kind: "own", text: "A deploy is done." }]);
  }
  expect(parseBody(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined();
});

test("each field of a template is a part of its own", () => {
  expect(fillTemplate("#{/number} {/action} by {/sender/login}: {/sender}", body)).toEqual([
    { kind: "own", text: "#" },
    { kind: "outside", text: "7" },
    { kind: "outside", text: "opened" },
    { kind: "own", text: "by" },
    { kind: "outside", text: "alice" },
    { kind: "own", text: ":" },
    { kind: "outside", text: '{"login":"alice"}' },
  ]);
});

test("braces in a field are not filled again", () => {
  const tricky = parseBody(Buffer.from(JSON.stringify({ a: "{/b}", b: "secret" })));
  expect(fillTemplate("{/a}", tricky)).toEqual([{ kind: "outside", text: "{/b}" }]);
});

test("a field that is not there is refused by its name", () => {
  expect(() => fillTemplate("{/sender/name}", body)).toThrow(
    "template: the body has nothing at /sender/name.",
  );
});

test("a field that is nested for ever is refused, not a crash", () => {
  const deep = parseBody(Buffer.from(`{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`));
  expect(() => fillTemplate("{/a}", deep)).toThrow("template: /a is nested too deeply");
});

test("a template whose path is none is refused when it is made", () => {
  const problemOf = (template: string) => hookTemplateSchema.safeParse(template).error?.issues[0]?.message;
  expect(problemOf("{/a~2}")).toBe("{/a~2} is no JSON pointer in braces");
  expect(problemOf("{/a}".repeat(51))).toBe("may take at most 50 fields");
  expect(problemOf("a {b} {} {/a}")).toBeUndefined();
});
