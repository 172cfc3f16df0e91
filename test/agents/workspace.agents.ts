/** The real program in the sandbox `workspace`: it builds and commits in its worktree, and sees no sibling repository. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { folderOf } from "../support/agent-siege.ts";
import { bash } from "../support/agent-threads.ts";
import { BYPASS_CONFIG, script, transcriptOf, wordsOf } from "../support/agents.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";
import { type Model, startModel } from "./model.ts";
import { claudeEnvironment, claudeProgram } from "./real.ts";

let model: Model | undefined;
let sidecar: TestSidecar | undefined;
afterEach(async () => {
  await sidecar?.close();
  await model?.close();
});

test("it works there, also after its process was ended, and reads nothing beside", {
  timeout: 120_000,
}, async () => {
  model = await startModel();
  const folders = makeSidecarFolders();
  for (const name of ["shop", "other"]) {
    const dir = join(folders.reposDir, name);
    mkdirSync(dir);
    writeFileSync(join(dir, "file"), `${name}-kumquat`);
    for (const args of [
      ["init", "-q"],
      ["add", "."],
      ["commit", "-qm", "first"],
    ])
      spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dir });
  }
  writeFileSync(join(folders.home, ".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n");
  const { agent } = BYPASS_CONFIG;
  if (!agent) throw new Error("the tests' agent is missing");
  const threadEnv = { PATH: process.env["PATH"] ?? "", HOME: folders.home, ...claudeEnvironment(model) };
  const config = { ...BYPASS_CONFIG, sandbox: "workspace" as const, threadEnv };
  sidecar = await startSidecar({ ...config, agent: { ...agent, program: claudeProgram() } }, { folders });
  const side = sidecar;
  const tries = [
    'node -e \'fs.writeFileSync("built", "1")\'; git add built; git commit -qm second; git log --format=%an:%s -1',
    `cat ${folders.reposDir}/other/file; ls -A ${folders.reposDir}; echo tried > /tmp/x; echo x > ~/.bashrc`,
  ];
  await side.client.createThread({
    ...({ threadId: "a", type: "agent", dir: "shop" } as const),
    command: script("work", ...tries.map((one) => ({ tools: [bash(one)] })), { text: "Done." }),
    agent: { permissionMode: "bypassPermissions", workspace: "worktree" },
  });
  const options = { timeoutMs: 40_000 };
  await until("its words", async () => (await wordsOf(side, "a")).includes("Done."), options);
  const text = JSON.stringify(await transcriptOf(side, "a"));
  expect(text).toContain("Ann:second");
  expect(text + JSON.stringify(model.requests)).not.toContain("other-kumquat");
  expect(existsSync(join(folders.home, ".bashrc"))).toBe(false);
  await side.client.controlAgent("a", { control: "pause" });
  await side.client.controlAgent("a", { control: "resume" });
  await side.client.sendInput("a", {
    text: script("more", { tools: [bash("cat /tmp/x > kept")] }, { text: "Again." }),
  });
  await until("its words", async () => (await wordsOf(side, "a")).includes("Again."), options);
  const { worktree } = JSON.parse(readFileSync(join(folderOf(side, "a"), "thread.json"), "utf8"));
  expect(readFileSync(join(worktree.path, "kept"), "utf8")).toBe("tried\n");
  const after = JSON.stringify(await transcriptOf(side, "a"));
  expect(after).not.toContain("begins anew");
});
