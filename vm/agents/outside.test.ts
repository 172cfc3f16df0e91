import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { agentConfigSchema } from "../../shared/agent/config.ts";
import { emptyFold } from "../../shared/agent/fold.ts";
import { job, OWNER, person, RELAY } from "../../shared/principal.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { findNarrowMode, letIn, markedConfig, refuseMarkedControl, refuseUnmarkable } from "./outside.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const AGENT = { ...agentConfigSchema.parse({}), engine: "claude" as const };
const MARKED = { marked: { why: "a request of the hook deploy" } };
const inMode = (modeId: string | null, isSettled = true) => ({
  fold: { ...emptyFold(), chosen: { modeId, model: null } },
  isSettled,
});

test("the mark stands before the text, and before it the mode that asks", () => {
  const place = { folder: folder.path, by: job("deploy"), now: 0 };
  const { before, files } = letIn(
    { marks: "a request of the hook deploy", file: { name: "deploy-1.txt", text: "all of it" } },
    place,
    () => "default",
  );
  expect(before).toMatchObject([
    { op: "mode", modeId: "default", by: "job:deploy" },
    { op: "mark", why: "a request of the hook deploy", by: "job:deploy" },
  ]);
  expect(files).toEqual([{ type: "resource_link", uri: "attachments/deploy-1.txt", name: "deploy-1.txt" }]);
  expect(readFileSync(join(folder.path, "attachments/deploy-1.txt"), "utf8")).toBe("all of it");
  expect(letIn(undefined, place)).toEqual({ before: [], files: [] });
});

test("a thread that begins with such text has the mode that asks, or a narrower one, never that of the settings", () => {
  const modeOf = (permissionMode?: string) =>
    markedConfig({ ...AGENT, permissionMode } as typeof AGENT, "claude", { marks: "x" }).permissionMode;
  expect([undefined, "acceptEdits", "auto", "bypassPermissions", "plan", "default"].map(modeOf)).toEqual([
    ...["default", "default", "default", "default"],
    ...["plan", "default"],
  ]);
  expect(markedConfig({ ...AGENT, permissionMode: "acceptEdits" }, "claude", {}).permissionMode).toBe(
    "acceptEdits",
  );
});

test("a thread that it comes into is put into the mode that asks, whatever lies in its inbox", () => {
  expect(findNarrowMode(AGENT, inMode("acceptEdits"))).toBe("default");
  expect(findNarrowMode(AGENT, inMode(null))).toBe("default");
  expect(findNarrowMode(AGENT, inMode("plan"))).toBeUndefined();
  expect(findNarrowMode(AGENT, inMode("plan", false))).toBe("default");
});

test("no wider mode, and only a person trusts what was read", () => {
  const refuse =
    (request: object, thread: object = MARKED, by = person("7") as typeof OWNER) =>
    () =>
      refuseMarkedControl(request as never, AGENT, thread, by);
  expect(refuse({ control: "mode", modeId: "acceptEdits" })).toThrow(
    /has read text from outside \(a request of/,
  );
  expect(refuse({ control: "mode", modeId: "plan" })).not.toThrow();
  expect(refuse({ control: "mode", modeId: "acceptEdits" }, {})).not.toThrow();
  expect(refuse({ control: "unmark" })).not.toThrow();
  expect(refuse({ control: "unmark" }, MARKED, OWNER)).not.toThrow();
  for (const by of [RELAY, job("x"), { kind: "thread", threadId: "a" }])
    expect(refuse({ control: "unmark" }, MARKED, by as typeof OWNER)).toThrow(/Only a person/);
  expect(refuse({ control: "unmark" }, {})).not.toThrow();
});

test("an engine that can't be held to ask gets no such text", () => {
  expect(() => refuseUnmarkable("claude", "raw")).not.toThrow();
  expect(() => refuseUnmarkable("demo", "raw")).not.toThrow();
  expect(() => refuseUnmarkable("command", "raw")).toThrow(/^raw: the engine command can't be held/);
});
