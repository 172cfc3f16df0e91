import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { threadConfigSchema } from "../../shared/agent/config.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { TurnKeeper } from "./turn-keeper.ts";

test("a begin whose notes can't be written fails its call, and is made again for the next one", async () => {
  const { path, remove } = makeFolder();
  onTestFinished(remove);
  const [folder, dir] = [join(path, "thread"), join(path, "repository")];
  mkdirSync(folder);
  mkdirSync(dir);
  execFileSync("git", ["init", "-q", dir]);
  const config = threadConfigSchema.parse({
    v: 1,
    threadId: "t",
    dir,
    number: 1,
    createdAt: new Date().toISOString(),
    createdBy: "owner",
    agent: {},
    launch: { program: "agent" },
  });
  const env = { PATH: process.env["PATH"] ?? "", HOME: path };
  const keeper = new TurnKeeper({ folder, config, env }, 0);
  const notes = join(folder, "turn.json");
  mkdirSync(join(notes, "in-the-way"), { recursive: true });
  keeper.start(0);
  await keeper.settle();
  await expect(keeper.beforeCall({ toolCallId: "1", kind: "execute" }, 0)).rejects.toThrow();
  rmSync(notes, { recursive: true });
  await keeper.beforeCall({ toolCallId: "2", kind: "execute" }, 0);
  writeFileSync(join(dir, "file"), "new\n");
  await keeper.afterCall("2");
  expect(await keeper.end("turn")).toMatchObject({ files: 1 });
  await keeper.close();
});
