/** The state before a turn, when git is slow: the message goes in at once, the first call that may write waits. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RUNNER_MARKER } from "../../shared/agent/markers.ts";
import { bash, openThreads, says } from "../support/agent-threads.ts";
import { makeFolder } from "../support/folders.ts";
import { listProcesses, signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const newThread = openThreads();

// Promise: R9
test("a message does not wait for the state before its turn, the first call does; a git outlives no runner unknown", async () => {
  const { path: folder, remove } = makeFolder();
  const gate = join(folder, "gate");
  const git = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  mkdirSync(join(folder, "bin"));
  const wait = `until [ -e "${gate}" ] || [ ! -e "${folder}" ]; do sleep 0.05; done`;
  writeFileSync(join(folder, "bin/git"), `#!/bin/sh\n${wait}\nexec "${git}" "$@"\n`, { mode: 0o755 });
  const thread = newThread({
    agent: { permissionMode: "bypassPermissions" },
    env: { PATH: `${join(folder, "bin")}:${process.env["PATH"]}` },
  });
  const run = (...args: string[]) => execFileSync(git, args, { cwd: thread.dir, encoding: "utf8" });
  run("init", "-q");
  const file = join(thread.dir, "file");
  writeFileSync(file, "1\n");
  thread.write(says("Do it", { tools: [bash("echo 2 > file")] }, { text: "Done." }));
  thread.start();
  await thread.event("tool_call");
  const gits = () =>
    listProcesses().filter(
      ({ command, environment }) =>
        command.includes(join(folder, "bin/git")) && environment.includes(`${RUNNER_MARKER}=${thread.id}`),
    );
  await until("git of the runner", () => gits().length > 0);
  thread.killRunner();
  await thread.runnerDied();
  // As the sidecar does before it starts the next runner.
  for (const { pid } of gits()) signal(pid, "SIGKILL");
  thread.start();
  await until("git of the next runner", () => gits().length > 0);
  expect([readFileSync(file, "utf8"), existsSync(join(thread.folder, "turn.json"))]).toEqual(["1\n", false]);
  writeFileSync(gate, "");
  const { turnId } = await thread.event("turn_end");
  expect(thread.of("turn_changes")).toMatchObject([{ turnId, files: 1 }]);
  expect(readFileSync(file, "utf8")).toBe("2\n");
  thread.control("undo", { turnId });
  if (!thread.runner) thread.start();
  expect(await thread.event("undo")).toMatchObject({ status: "completed", files: 1 });
  expect(readFileSync(file, "utf8")).toBe("1\n");
  remove();
});
