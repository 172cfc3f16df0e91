import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ThreadConfig, threadConfigSchema } from "../../shared/agent/config.ts";
import { asUser, give } from "../../test/support/as-user.ts";
import { aThreadId } from "../../test/support/ids.ts";
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
  expect(folders.parentOf(aThreadId("child"))).toBe("first");
  folders.make(config("child", {}));
  expect(folders.parentOf(aThreadId("child"))).toBeUndefined();
  folders.make(config("child", { parentThreadId: "second" }));
  expect(folders.parentOf(aThreadId("child"))).toBe("second");
});

test("a configuration of another version is read: what this one does not know is left aside", () => {
  const folders = new AgentFolders(root);
  const agent = { model: "opus", limits: { turns: 2, days: 1 }, colour: "red" };
  folders.make({ ...config("old", {}), agent } as unknown as ThreadConfig);
  expect(folders.findConfig(aThreadId("old"))?.agent).toMatchObject({ model: "opus", limits: { turns: 2 } });
});

test("what an agent has closed in the folder of a thread that is over holds up neither a new one nor the start", async () => {
  const closed = (folder: string) => {
    mkdirSync(join(folder, "home", "module", "cache"), { recursive: true });
    for (const name of ["home/module/cache", "home/module"]) chmodSync(join(folder, name), 0o555);
  };
  give(root);
  await asUser(() => {
    const folders = new AgentFolders(root);
    folders.make(config("a", {}));
    closed(folders.of(aThreadId("a")));
    folders.make(config("a", { model: "opus" }));
    expect(existsSync(join(folders.of(aThreadId("a")), "home"))).toBe(false);
    closed(folders.of(aThreadId("a")));
    renameSync(folders.of(aThreadId("a")), `${folders.of(aThreadId("a"))}.old`);
    folders.make(config("a", {}));
    closed(`${folders.of(aThreadId("a"))}.old`);
    new AgentFolders(root);
    expect(existsSync(`${folders.of(aThreadId("a"))}.old`)).toBe(false);
  });
});
