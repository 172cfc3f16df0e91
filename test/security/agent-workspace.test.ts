/** AGENT_SANDBOX=workspace beside all that agents do together: files that they send, children, locks, branches, undo. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { findSandbox } from "../../vm/agents/sandbox.ts";
import { bash } from "../support/agent-threads.ts";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const place = makeFolder();
const found = await findSandbox("workspace", place.path, {
  PATH: process.env["PATH"] ?? "",
  HOME: place.path,
});
place.remove();

const runs = (command: string): Round => ({ tools: [bash(command)] });
const uses = (name: string, input: Record<string, unknown>): Round => ({
  tools: [{ name: `mcp__threadmux__${name}`, input }],
});

describe.runIf(found.sandbox !== undefined)("in the sandbox workspace", () => {
  let sidecar: TestSidecar;
  beforeAll(async () => {
    const folders = makeSidecarFolders();
    const threadEnv = { PATH: folders.env["PATH"] ?? "", HOME: folders.home, THREADMUX_DEMO_WRITE_MS: "300" };
    sidecar = await startSidecar({ ...BYPASS_CONFIG, sandbox: "workspace", threadEnv }, { folders });
    const shop = join(sidecar.reposDir, "shop");
    mkdirSync(shop);
    writeFileSync(join(shop, "file"), "first\n");
    for (const args of [
      ["init", "-q"],
      ["add", "."],
      ["commit", "-qm", "first"],
    ])
      spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: shop });
  });
  afterAll(() => sidecar?.close());

  async function open(threadId: string, workspace: "shared" | "worktree", ...rounds: Round[]): Promise<void> {
    await sidecar.client.createThread({
      ...({ threadId, type: "agent", dir: "shop" } as const),
      command: script("work", ...rounds, { text: "Done." }),
      agent: { permissionMode: "bypassPermissions", workspace },
    });
  }
  const done = async (threadId: string) => {
    await untilStatus(sidecar, threadId, "idle");
    expect(await wordsOf(sidecar, threadId)).toContain("Done.");
  };
  const dirOf = (threadId: string) => join(sidecar.stateDir, "worktrees", threadId);

  // Promise: S17
  test.each(["shared", "worktree"] as const)(
    "it sends a file, and its child works beside it: %s",
    async (workspace) => {
      const prompt = script("part", runs("cat report > from-child; echo kumquat > ~/z; ls -A ~ /tmp"), {
        text: "Part.",
      });
      const rounds = [
        runs("echo report > report; echo walnut > ~/mine"),
        uses("send_file", { path: "report" }),
      ];
      await open(
        workspace,
        workspace,
        ...rounds,
        uses("spawn_thread", { prompt }),
        runs("cat from-child ~/z"),
      );
      await done(workspace);
      const events = await transcriptOf(sidecar, workspace);
      expect(events.filter(({ type }) => type === "file_sent")).toMatchObject([{ name: "report", bytes: 7 }]);
      const dir = workspace === "shared" ? join(sidecar.reposDir, "shop") : dirOf(workspace);
      expect(readFileSync(join(dir, "from-child"), "utf8")).toBe("report\n");
      // Each has a home of its own.
      const [child] = (await sidecar.client.listThreads({ status: "all" })).filter(
        (one) => one.parentId === workspace,
      );
      expect(JSON.stringify(await transcriptOf(sidecar, child?.threadId ?? ""))).not.toContain("mine");
      expect(JSON.stringify(events.filter(({ type }) => type === "tool_call_update"))).not.toContain(
        "kumquat",
      );
    },
  );

  test("a file that one agent writes is waited for by another, and no edit is lost", async () => {
    const path = join(sidecar.reposDir, "shop", "list");
    writeFileSync(path, "end\n");
    const edit = (line: string): Round => ({
      tools: [{ name: "Edit", input: { file_path: path, old_string: "end", new_string: `${line}\nend` } }],
    });
    const read: Round = { tools: [{ name: "Read", input: { file_path: path } }] };
    const agents = ["one", "two"];
    await Promise.all(agents.map((name) => open(name, "shared", read, edit(`${name} 1`), edit(`${name} 2`))));
    await Promise.all(agents.map(done));
    const lines = readFileSync(path, "utf8").trim().split("\n");
    expect(lines.sort()).toEqual(["end", "one 1", "one 2", "two 1", "two 2"]);
    const events = (await Promise.all(agents.map((name) => transcriptOf(sidecar, name)))).flat();
    expect(events.filter((event) => event.type === "step_start" && event.kind === "lock")).not.toEqual([]);
  });

  test("a branch takes the files with it, in a worktree of its own, and its turn is undone", async () => {
    await open("root", "worktree", runs("echo kept > kept; echo secret > ~/z"));
    await done("root");
    await sidecar.client.branchThread("root", { threadId: "branch", lockParent: false, files: true });
    const text = script("more", runs("cat kept; echo new > new; cat ~/z"), { text: "More." });
    await sidecar.client.sendInput("branch", { text });
    await until("its words", async () => (await wordsOf(sidecar, "branch")).includes("More."));
    await untilStatus(sidecar, "branch", "idle");
    expect(readFileSync(join(dirOf("branch"), "kept"), "utf8")).toBe("kept\n");
    expect([existsSync(join(dirOf("branch"), "new")), existsSync(join(dirOf("root"), "new"))]).toEqual([
      true,
      false,
    ]);
    const events = await transcriptOf(sidecar, "branch");
    expect(JSON.stringify(events.slice(-12))).not.toContain("secret\\n");
    const turn = events.findLast((event) => event.type === "turn_start");
    await sidecar.client.controlAgent("branch", {
      control: "undo",
      turnId: turn?.type === "turn_start" ? turn.turnId : "",
    });
    await until("the file to be gone", () => !existsSync(join(dirOf("branch"), "new")));
    expect(existsSync(join(dirOf("branch"), "kept"))).toBe(true);
  });
});
