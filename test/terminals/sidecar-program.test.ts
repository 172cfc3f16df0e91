/** How a thread's program is started: where, by which shell, and seen by whom. */
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findProgram } from "../../shared/find-program.ts";
import { parseVmConfig } from "../../vm/config.ts";
import {
  openAgent,
  STAND_IN_CONFIG,
  script,
  standIn,
  transcriptOf,
  untilStatus,
  wordsOf,
} from "../support/agents.ts";
import { listProcesses, signal } from "../support/processes.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

describe("a directory that is swapped for a link", () => {
  let swapped: TestSidecar;
  beforeAll(async () => {
    swapped = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }) });
  });
  afterAll(() => swapped.close());

  /** From now on the way to `dir` leads out of `REPOS_DIR`. */
  const swap = (dir: string) => {
    const { reposDir, folders } = swapped;
    const outside = join(folders.path, `outside-${dir}`);
    renameSync(join(reposDir, dir), `${join(reposDir, dir)}-before`);
    mkdirSync(join(outside, "src"), { recursive: true });
    symlinkSync(outside, join(reposDir, dir));
    return outside;
  };
  const words = (dir: string) => `threadmux: ${dir} leads elsewhere now; nothing was started.\r\n`;

  // Promise: S6
  test.each(["", "src"])(
    "after it was looked at and before it is entered: nothing runs there (%j)",
    async (below) => {
      const { client, reposDir, stateDir, folders } = swapped;
      const dir = `repo${below}`;
      mkdirSync(join(reposDir, dir, "src"), { recursive: true });
      signal(folders.tmuxPid(), "SIGSTOP"); // holds the creation up between the two
      const opening = openTerminal(client, dir, "touch ran", { dir: join(dir, below), cols: 300 });
      await until("the directory to be looked at", () => existsSync(join(stateDir, `logs/${dir}.log`)));
      const outside = swap(dir);
      signal(folders.tmuxPid(), "SIGCONT");
      await opening;
      const end = await untilEnded(client, dir);
      expect(end).toMatchObject({ output: words(join(reposDir, dir, below)), exitCode: 126 });
      expect([existsSync(join(outside, "ran")), existsSync(join(outside, "src/ran"))]).toEqual([
        false,
        false,
      ]);
    },
  );

  // Promise: S6
  test("between an agent's turns: no runner starts there, and the thread says that it can't go on", async () => {
    const { client } = swapped;
    await openAgent(swapped, "agent", script("hello", { text: "Hi." }));
    await untilStatus(swapped, "agent", "idle");
    await until("no runner", async () => !(await client.getThread("agent")).processRunning);
    const outside = swap("agent");
    await client.sendInput("agent", {
      text: script("go on", { tools: [{ name: "Bash", input: { command: "touch ran" } }] }),
    });
    await until("the failure", async () => (await client.getThread("agent")).status === "failed");
    expect(existsSync(join(outside, "ran"))).toBe(false);
  });
});

test.each(["/bin/bash", "/bin/dash", "/bin/sh"])("%s runs a command as with -c", async (shell) => {
  const folders = makeSidecarFolders();
  const { threadEnv } = parseVmConfig({ ...folders.env, SHELL: shell });
  const own = await startSidecar({ threadEnv }, { folders });
  try {
    const { client } = own;
    await openTerminal(client, "ok", 'echo "$0 $#"; [ -t 0 ] && (exit 3)');
    expect(await untilEnded(client, "ok")).toMatchObject({ output: `${shell} 0\r\n`, exitCode: 3 });
    await openTerminal(client, "bad", 'echo "begun\nended"\nif fi');
    expect(await untilEnded(client, "bad")).toMatchObject({ exitCode: 2 });
    await openTerminal(client, "here", "cat <<'E'\n$HOME\nE\n\n");
    expect((await untilEnded(client, "here")).output).toBe("$HOME\r\n");
  } finally {
    await own.close();
  }
});

test("a shell that is none of POSIX's reads the command from a file", async () => {
  const folders = makeSidecarFolders();
  const shell = join(folders.path, "fish");
  writeFileSync(shell, '#!/bin/sh\nprintf "%s of " "$#"; exec tr a-z A-Z <"$1"\n', { mode: 0o755 });
  const { threadEnv } = parseVmConfig({ ...folders.env, SHELL: shell });
  const own = await startSidecar({ threadEnv }, { folders });
  try {
    await openTerminal(own.client, "fish", "set x 1;\necho $x");
    expect((await untilEnded(own.client, "fish")).output).toBe("1 of SET X 1;\r\nECHO $X");
  } finally {
    await own.close();
  }
});

test("with a login that is refused, no home and no git, a command runs by bash, and a worktree is refused", async () => {
  const folders = makeSidecarFolders();
  const { threadEnv } = parseVmConfig({ ...folders.env, SHELL: "/usr/sbin/nologin", HOME: "" });
  const path = join(folders.path, "bin");
  mkdirSync(path);
  const needed = "tmux sh cat mv sleep stty cp rm mkdir env fallocate true".split(" ");
  for (const name of needed) symlinkSync(findProgram(name, "/usr/bin:/bin") ?? "", join(path, name));
  const own = await startSidecar({ threadEnv: { ...threadEnv, PATH: path } }, { folders });
  try {
    await openTerminal(own.client, "next-best", 'echo "$0 $SHELL $HOME"');
    const { output } = await untilEnded(own.client, "next-best");
    expect(output).toBe(`/bin/bash /bin/bash ${userInfo().homedir}\r\n`);
    const agent = { workspace: "worktree" as const };
    const made = own.client.createThread({
      ...{ threadId: "a", type: "agent", dir: ".", command: "Hello", agent },
    });
    expect(await refusal(made)).toEqual({
      code: "unsupported",
      message: "agent.workspace: a worktree needs git, which is not on PATH.",
    });
  } finally {
    await own.close();
  }
});

// Promise: S7
test("neither a command nor a prompt is in the list of processes", async () => {
  const secret = `secret-${process.pid}`;
  const hidden = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }) });
  try {
    const { client, reposDir } = hidden;
    const shown = () => listProcesses().filter(({ command }) => command.includes(secret));
    await openTerminal(client, "shell", `: ${secret}; echo ready; read -r line; echo $line; cat`);
    await untilOutput(client, "shell", "ready");
    expect(shown()).toEqual([]);
    const waitFor = join(reposDir, "agent/go");
    await openAgent(hidden, "agent", script(`${secret}: wait`, { text: "Gone.", waitFor }));
    await until("the turn", async () =>
      (await transcriptOf(hidden, "agent")).some(({ type }) => type === "turn_start"),
    );
    expect(shown()).toEqual([]);
    writeFileSync(waitFor, "");
    await untilStatus(hidden, "agent", "idle");
    expect(await wordsOf(hidden, "agent")).toEqual(["Gone."]);
  } finally {
    await hidden.close();
  }
});
