/** A marked thread writes to no memory, and a backup takes memories along. */
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryClient } from "../../shared/memory-client.ts";
import { backUp } from "../../vm/backup/backup.ts";
import { openAgent, STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

let sidecar: TestSidecar;
let memory: MemoryClient;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  memory = new MemoryClient(sidecar.client);
});
afterAll(() => sidecar?.close());

test("a marked thread writes nothing to memory, and may read it", async () => {
  await openAgent(sidecar, "marked", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "marked", "idle");
  const write = (path: string) =>
    callTool(sidecar, {
      threadId: "marked",
      name: "memory_write",
      input: { path, text: "clavichord" },
      callId: path,
    });
  expect(await write("before.md")).toContain("Written");
  const line = {
    ts: new Date().toISOString(),
    op: "mark",
    why: "a request of the hook deploy",
    by: "job:deploy",
  };
  appendFileSync(join(sidecar.stateDir, "threads/marked/inbox.jsonl"), `${JSON.stringify(line)}\n`);
  await sidecar.client.sendInput("marked", { text: script("Go on", { text: "Gone on." }) });
  await untilStatus(sidecar, "marked", "idle");
  for (const path of ["after.md", "user/after.md", "dir/MEMORY.md"])
    expect(await write(path)).toMatch(/text from outside .* writes nothing to memory/);
  const [files] = [(await memory.list()).flatMap((one) => one.files.map(({ path }) => path))];
  expect(files).toEqual([expect.stringMatching(/\/before\.md$/)]);
  const read = { threadId: "marked", name: "memory_get", input: { path: "before.md" } };
  expect(await callTool(sidecar, read)).toContain("1> clavichord");
});

test("a backup takes memories along, and leaves the index out", async () => {
  await memory.write({ path: "user/MEMORY.md", text: "Answer in German." });
  await memory.search({ query: "german" });
  const file = join(sidecar.folders.path, "backup.tar");
  await backUp(sidecar.stateDir, file);
  const names = execFileSync("tar", ["--list", `--file=${file}`], { encoding: "utf8" }).split("\n");
  expect(names).toContain("memory/user/MEMORY.md");
  expect(names.filter((name) => name.includes("memory-index"))).toEqual([]);
});
