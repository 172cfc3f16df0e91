import { expect, test } from "vitest";
import { parseUpdate, permissionSchema, type Update } from "./messages.ts";
import { letsOwnTool, optionsOf } from "./permissions.ts";
import { Updates } from "./updates.ts";

const update = (sessionUpdate: string, fields: object): Update => {
  const parsed = parseUpdate({ sessionUpdate, ...fields });
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
};
const piece = (text: string, fields: object = {}) =>
  update("agent_message_chunk", { content: { type: "text", text }, ...fields });
const take = (...list: Update[]) => {
  const updates = new Updates("/srv/shop");
  return [...list.flatMap((one) => updates.take(one)), ...updates.end()];
};

test("pieces are one text until something else comes, or another message's id", () => {
  const thought = update("agent_thought_chunk", { content: { type: "text", text: "hm" } });
  expect(
    take(piece("a"), piece("b"), thought, piece("c", { messageId: "1" }), piece("d", { messageId: "2" })),
  ).toEqual([
    { type: "text", isThought: false, text: "ab" },
    { type: "text", isThought: true, text: "hm" },
    { type: "text", isThought: false, text: "c" },
    { type: "text", isThought: false, text: "d" },
  ]);
  const long = take(...Array.from({ length: 10 }, () => piece("x".repeat(100_000))));
  expect(long.length).toBeGreaterThan(2);
  expect(take(piece(" \n"))).toEqual([]);
  expect(take(update("agent_message_chunk", { content: { type: "audio" } }))).toMatchObject([
    { text: "[audio]" },
  ]);
});

test("a call is told once, with what it says of itself by then, and ends once", () => {
  const id = { toolCallId: "c1" };
  const bare = update("tool_call", {
    ...id,
    title: "bash",
    kind: "execute",
    status: "pending",
    rawInput: {},
  });
  const more = update("tool_call_update", {
    ...id,
    title: "make  all",
    status: "in_progress",
    rawInput: { command: "make all" },
    locations: [{ path: "/srv/shop/Makefile", line: 3 }, { nothing: 1 }],
  });
  const output = {
    content: [
      { type: "content", content: { type: "text", text: "ok" } },
      { type: "terminal", terminalId: "t" },
    ],
  };
  const done = update("tool_call_update", { ...id, status: "completed", ...output });
  expect(take(bare, more, done, done)).toEqual([
    {
      type: "call",
      id: "c1",
      name: "execute",
      title: "make all",
      kind: "execute",
      input: { command: "make all" },
      locations: [{ path: "Makefile", line: 3 }],
    },
    { type: "call_update", id: "c1", status: "in_progress" },
    {
      type: "call_update",
      id: "c1",
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: "ok" } }],
    },
  ]);
  // One that only waits is told when the turn ends at the latest; an id that is used again is another call.
  expect(take(bare)).toMatchObject([{ type: "call", title: "bash" }]);
  expect(take(more, done, more).map((line) => "id" in line && line.id)).toEqual(["c1", "c1", "c1"]);
  expect(take(more, done, bare, more).filter(({ type }) => type === "call")).toMatchObject([
    { id: "c1" },
    { id: "c1~2" },
  ]);
});

test("diffs and raw outputs are what a call put out", () => {
  const call = { toolCallId: "c", title: "Edit", kind: "edit", rawInput: { f: 1 } };
  const diff = { type: "diff", path: "/srv/shop/a.ts", oldText: null, newText: "b" };
  expect(take(update("tool_call", { ...call, status: "completed", content: [diff] })).at(-1)).toMatchObject({
    content: [{ type: "diff", path: "a.ts", oldText: null, newText: "b" }],
  });
  const raw = (rawOutput: unknown) =>
    take(update("tool_call", { ...call, status: "failed", rawOutput })).at(-1);
  expect(raw({ formatted_output: "out", exit_code: 1 })).toMatchObject({
    content: [{ content: { text: "out" } }],
  });
  expect(raw({ a: 1 })).toMatchObject({ content: [{ content: { text: '{"a":1}' } }] });
});

test("what can't be read is left out, each part by itself", () => {
  expect(parseUpdate({ sessionUpdate: "hologram" })).toBe("unknown");
  expect(parseUpdate({ sessionUpdate: "constructor" })).toBe("unknown");
  expect(parseUpdate({ sessionUpdate: "tool_call" })).toBe("unknown");
  expect(parseUpdate({ sessionUpdate: "available_commands_update" })).toBe("unused");
  const plan = update("plan", { entries: [{ content: "a", priority: "urgent", status: 7 }, { no: 1 }] });
  expect(take(plan)).toEqual([
    { type: "plan", entries: [{ content: "a", priority: "medium", status: "pending" }] },
  ]);
  const call = update("tool_call", {
    toolCallId: "c",
    title: null,
    kind: "teleport",
    status: "lost",
    rawInput: 1,
  });
  expect(take(call)).toEqual([
    { type: "call", id: "c", name: "tool", title: "tool", kind: "other", input: 1 },
  ]);
});

const permission = (options: object[], toolCall: object = {}) =>
  permissionSchema.parse({ sessionId: "s", toolCall: { toolCallId: "c", ...toolCall }, options });
const option = (optionId: string, kind: string, name = "") => ({ optionId, kind, name });

test("options keep the agent's names; a person can always say no", () => {
  const once = option("x", "allow_once", "Sure\n\u202eeno");
  const asked = optionsOf(
    permission([once, option("y", "allow_always"), option("z", "allow_always"), option("w", "fly")]),
  );
  expect(asked?.shown).toEqual([
    { optionId: "once", name: "Sure \ufffdeno", kind: "allow_once" },
    { optionId: "always", name: "Always allow", kind: "allow_always" },
    { optionId: "always2", name: "Always allow", kind: "allow_always" },
    { optionId: "no", name: "Deny", kind: "reject_once" },
  ]);
  expect([...(asked?.ids ?? [])]).toEqual([
    ["once", "x"],
    ["always", "y"],
    ["always2", "z"],
    ["no", null],
  ]);
  expect(optionsOf(permission([]))).toBeUndefined();
  expect(optionsOf(permission([option("w", "fly")]))).toBeUndefined();
});

test("a call of the thread's own tools is known by the tool's name, never by a command's title", () => {
  const allowed = ["mcp__threadmux"];
  const once = [option("x", "allow_once")];
  const named = (name: string) => permission(once, { _meta: { claudeCode: { toolName: name } } });
  const known = { program: "opencode", ownTool: /^(threadmux)_(\w+)$/, reads: [], files: [] };
  const titled = (title: string, kind: string) => permission(once, { title, kind });
  expect(letsOwnTool(named("mcp__threadmux__message"), allowed, undefined)).toBe("x");
  expect(letsOwnTool(named("mcp__threadmux_evil"), allowed, undefined)).toBeUndefined();
  expect(letsOwnTool(named("mcp__threadmux__message"), [], undefined)).toBeUndefined();
  expect(letsOwnTool(titled("threadmux_message", "other"), allowed, known)).toBe("x");
  expect(letsOwnTool(titled("threadmux_message", "execute"), allowed, known)).toBeUndefined();
  expect(letsOwnTool(titled("threadmux_message; rm -rf /", "other"), allowed, known)).toBeUndefined();
  expect(letsOwnTool(titled("threadmux_message", "other"), allowed, undefined)).toBeUndefined();
});
