/** What reaches tmux late, or a program that has just ended: it is refused and never happens, and costs nobody else. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findProcessesOf, listProcesses, signal } from "../support/processes.ts";
import { makeSidecarFolders, spawnSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: Omit<TestSidecar, "restart"> | undefined;
afterEach(() => sidecar?.close());

const LONG = "x\n".repeat(2_000);
const pastes = (stateDir: string) => readdirSync(stateDir).filter((name) => name.startsWith("paste-"));

for (const [how, text, outcomes] of [
  ["a long input", LONG, ["thread_ended"]],
  // It may have gone in before tmux noticed the end: that is no loss, as with any terminal.
  ["a short input", "x", ["thread_ended", "sent"]],
] as const) {
  test(`${how} to a program that ends meanwhile costs no other thread anything`, async () => {
    sidecar = await spawnSidecar();
    const { client, folders } = sidecar;
    await openTerminal(client, "other", "cat");
    await openTerminal(client, "ends", `echo up; exec sleep 1000.71${process.pid}`);
    await untilOutput(client, "ends", "up");
    const program = await until("the program", () =>
      listProcesses().find(({ command }) => command.startsWith(`sleep 1000.71${process.pid}`)),
    );
    signal(folders.tmuxPid(), "SIGSTOP");
    const outcome = client.sendInput("ends", { text }).then(
      () => "sent",
      (error: { code?: string }) => error.code,
    );
    // The wrapper with it: nobody is left who could say that the program has ended.
    for (const pid of [program.ppid, program.pid]) signal(pid, "SIGKILL");
    signal(folders.tmuxPid(), "SIGCONT");
    expect(outcomes).toContain(await outcome);
    await client.sendInput("other", { text: "still here" });
    await untilOutput(client, "other", "still here\r\nstill here");
  });
}

test("what was typed in time is said to be typed, however late the sidecar gets to hear of it", async () => {
  const spawned = await spawnSidecar();
  sidecar = spawned;
  const { client, folders } = spawned;
  await openTerminal(client, "typed", 'stty -echo; echo ready; read x; echo "$x" > typed; cat');
  await untilOutput(client, "typed", "ready");
  const written = () => Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${spawned.pid()}/io`, "utf8"))?.[1]);
  signal(folders.tmuxPid(), "SIGSTOP");
  const before = written();
  // More than the sidecar writes meanwhile of its own accord: a byte is three in tmux's command.
  const sent = client.sendInput("typed", { text: "in time ".repeat(120) });
  sent.catch(() => undefined); // looked at below
  const startedAt = performance.now();
  const isWritten = () => performance.now() - startedAt > 300 && written() > before + 2_800;
  await until("the question to be on its way", isWritten);
  signal(spawned.pid(), "SIGSTOP");
  signal(folders.tmuxPid(), "SIGCONT");
  await until("the program to have it", () => existsSync(join(spawned.reposDir, "typed")));
  await until("tmux's time to be over", () => performance.now() - startedAt > 2_800);
  signal(spawned.pid(), "SIGCONT");
  expect(await sent).toEqual({ sent: true });
});

test("a resize that was refused never happens", async () => {
  sidecar = await spawnSidecar();
  const { client, folders } = sidecar;
  await openTerminal(client, "size", "cat");
  signal(folders.tmuxPid(), "SIGSTOP");
  expect(await refusal(client.resizeThread("size", { cols: 133, rows: 44 }))).toMatchObject({
    code: "unavailable",
  });
  signal(folders.tmuxPid(), "SIGCONT");
  await until("tmux to be back", async () => (await client.getHealth()).ok);
  expect(await folders.tmux("display-message", "-p", "-t", "=thread-size:", "#{pane_width}")).toBe("80\n");
});

// Promise: R10
test("a program whose creation was refused never runs", async () => {
  const folders = makeSidecarFolders();
  const bin = join(folders.path, "bin");
  mkdirSync(bin);
  // A tmux that hangs just before it would make the session.
  writeFileSync(
    join(bin, "tmux"),
    `#!/bin/bash
case " $* " in
  *" -C "*) while IFS= read -r line; do
      case $line in *new-session*) [ -e ${folders.path}/hang ] && kill -STOP "$(cat ${folders.stateDir}/tmux.pid)" ;; esac
      printf '%s\\n' "$line"
    done | PATH=\${PATH#*:} tmux "$@" ;;
  *) PATH=\${PATH#*:} exec tmux "$@" ;;
esac
`,
  );
  chmodSync(join(bin, "tmux"), 0o755);
  sidecar = await spawnSidecar({ PATH: `${bin}:${folders.env["PATH"]}` }, folders);
  const { client, reposDir } = sidecar;
  await openTerminal(client, "before", "cat");
  writeFileSync(join(folders.path, "hang"), "");
  expect(await refusal(openTerminal(client, "late", "echo ran >> ran; sleep 1000"))).toMatchObject({
    code: "unavailable",
  });
  expect(readFileSync(`/proc/${folders.tmuxPid()}/stat`, "utf8")).toMatch(/\) T /); // else this test shows nothing
  signal(folders.tmuxPid(), "SIGCONT");
  await until("tmux to be back", async () => (await client.getHealth()).ok);
  await client.sendInput("before", { text: "everything that waited has been read" });
  await untilOutput(client, "before", "been read\r\neverything");
  expect(existsSync(join(reposDir, "ran"))).toBe(false);
});

test("of a long input that did not go in nothing is left, neither in the state folder nor in tmux", async () => {
  const spawned = await spawnSidecar();
  sidecar = spawned;
  const { client, folders, stateDir } = spawned;
  await openTerminal(client, "long", "stty raw -echo; echo ready; cat > /dev/null");
  await untilOutput(client, "long", "ready");
  signal(folders.tmuxPid(), "SIGSTOP");
  const lost = client.sendInput("long", { text: LONG }).catch(() => "lost");
  await until("the text to be on its way", () => pastes(stateDir).length === 1);
  await spawned.kill9();
  expect(await lost).toBe("lost");
  signal(folders.tmuxPid(), "SIGCONT");
  await spawned.start();
  await until("nothing to be left", async () => {
    return pastes(stateDir).length === 0 && (await folders.tmux("list-buffers")) === "";
  });
  await until("one control client to be left", () => {
    return findProcessesOf(stateDir).filter(({ command }) => command.includes(" -C ")).length === 1;
  });
});
