import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ThreadConfig, threadConfigSchema } from "../../shared/agent/config.ts";
import { AgentFolders } from "./folders.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "folders-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function config(threadId: string, agent: object): ThreadConfig {
  const made = {
    createdBy: "discord:7",
    createdAt: new Date().toISOString(),
    dir: "/",
    launch: { program: "x" },
  };
  return threadConfigSchema.parse({ v: 1, threadId, agent, ...made });
}

test("a thread with the id of one that is over has its own parent, or none", () => {
  const folders = new AgentFolders(root);
  folders.make(config("child", { parentThreadId: "first" }));
  expect(folders.parentOf("child")).toBe("first");
  folders.make(config("child", {}));
  expect(folders.parentOf("child")).toBeUndefined();
  folders.make(config("child", { parentThreadId: "second" }));
  expect(folders.parentOf("child")).toBe("second");
});

test("a configuration of another version is read: what this one does not know is left aside", () => {
  const folders = new AgentFolders(root);
  const agent = { model: "opus", limits: { turns: 2, days: 1 }, colour: "red" };
  folders.make({ ...config("old", {}), agent } as unknown as ThreadConfig);
  expect(folders.findConfig("old")?.agent).toMatchObject({ model: "opus", limits: { turns: 2 } });
});
