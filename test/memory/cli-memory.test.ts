/** `threadmux memory`, as a person types it. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { directoryOwner } from "../../shared/memory/owner.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

let sidecar: TestSidecar;
let cli: Cli;
beforeAll(async () => {
  sidecar = await startSidecar();
  cli = await buildCli(sidecar);
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar?.close());

test("a person writes, lists, shows, forgets and brings back a file", async () => {
  const { folder, directory } = directoryOwner(join(sidecar.reposDir, "shop"));
  const run = (...args: string[]) => cli.call(["memory", ...args]);
  expect(await run("write", "MEMORY.md", "Tests run with `npm test`.", "--dir", "shop")).toMatchObject({
    code: 0,
  });
  expect(
    await cli.call(["memory", "write", "user/taste.md"], { input: "Answer in German.\nShortly." }),
  ).toMatchObject({
    code: 0,
  });
  const { stdout } = await run("ls");
  expect(
    stdout
      .split("\n")
      .map((line) => line.split("\t"))
      .filter(([path]) => path !== ""),
  ).toMatchObject([
    [`${folder}/MEMORY.md`, "27", expect.any(String), "owner", directory],
    ["user/taste.md", "27", expect.any(String), "owner", ""],
  ]);
  expect((await run("show", "MEMORY.md", "--dir", "shop")).stdout).toBe("Tests run with `npm test`.\n");
  expect((await run("show", `${folder}/MEMORY.md`)).stdout).toBe("Tests run with `npm test`.\n");

  const forgotten = await run("forget", "user/taste.md");
  const [, writeId = ""] = /undo (\S+)/.exec(forgotten.stderr) ?? [];
  expect(await run("show", "user/taste.md")).toMatchObject({ code: 3, stdout: "" });
  expect(await run("undo", writeId)).toMatchObject({ code: 0 });
  expect((await run("show", "user/taste.md")).stdout).toBe("Answer in German.\nShortly.\n");
});

test("what was changed by hand says so, and is not lost to an undo", async () => {
  const path = join(sidecar.stateDir, "memory/user/hand.md");
  const run = (...args: string[]) => cli.call(["memory", ...args]);
  const { stderr } = await run("write", "user/hand.md", "one", "--replace");
  const [, writeId = ""] = /undo (\S+)/.exec(stderr) ?? [];
  writeFileSync(path, "by hand\n");
  const undone = await run("undo", writeId);
  expect(undone.code).not.toBe(0);
  expect(undone.stderr).toContain("was changed since");
  expect(readFileSync(path, "utf8")).toBe("by hand\n");
  expect(await cli.json("memory", "show", "user/hand.md")).toMatchObject({ by: null, text: "by hand\n" });
});

test.each([
  [["show", "x.md"], "path"],
  [["show", "../token.md"], "path"],
  [["show", "dirs/../user/x.md"], "path"],
  [["show", "user/MEMORY.MD"], "path"],
  [["show", "user/x.md", "--dir", "nowhere"], "dir"],
  [["write", "user/x.md", " "], "text"],
  [["undo", "nothing"], "nothing"],
])("%j names what is wrong", async (args, field) => {
  const { code, stderr } = await cli.call(["memory", ...args]);
  expect(code).not.toBe(0);
  expect(stderr).toContain(field);
});
