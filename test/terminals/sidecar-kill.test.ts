import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pause } from "../../shared/lifecycle.ts";
import { Cgroups } from "../../vm/processes/cgroups.ts";
import { inFull } from "../support/faults.ts";
import { listProcesses, signal } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const run = promisify(execFile);

let sidecar: TestSidecar;
let withoutGroups: TestSidecar;
const groups = Cgroups.open("a probe");
const hasGroups = groups !== undefined;
groups?.close();

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
  withoutGroups = await startSidecar({ maxThreads: 100 }, { canUseCgroups: false });
});
afterAll(async () => {
  await sidecar.close();
  await withoutGroups.close();
});

/** Processes whose arguments hold `word`: programs are started as `sleep 1000.<word>` and so on. */
function alive(word: string): string[] {
  return listProcesses().flatMap(({ command }) => (command.includes(word) ? [command] : []));
}

/** What is started, and how many `sleep`s it brings; NAP is one's seconds, by which it is known. */
const TREES: Record<string, [command: string, sleeps: number]> = {
  "a plain program": ["exec sleep NAP", 1],
  "a pipeline": ["sleep NAP | sleep NAP | cat", 2],
  "children in the background": ["sleep NAP & sleep NAP & wait", 2],
  "a disowned child": ["sleep NAP & disown; sleep NAP", 2],
  "a child under nohup": ["nohup sleep NAP >/dev/null 2>&1 & sleep NAP", 2],
  "a child in a session of its own": ["setsid sleep NAP & sleep NAP", 2],
  "a double fork": ["(setsid sh -c 'sleep NAP & exec sleep NAP' &) ; sleep NAP", 3],
  "a daemon with no terminal": ["setsid sh -c 'cd /; exec sleep NAP <&- >/dev/null 2>&1' & sleep NAP", 2],
  "a child that ignores TERM": ["(trap '' TERM; exec sleep NAP) & sleep NAP", 2],
  "a child that ignores HUP": ["(trap '' HUP; exec sleep NAP) & sleep NAP", 2],
  "children that ignore all they can": [
    "(trap '' TERM HUP INT QUIT; sleep NAP & exec setsid sleep NAP) & sleep NAP",
    3,
  ],
  "a stopped child": ["sh -c 'sleep NAP & kill -STOP $$; true NAP' & sleep NAP", 3],
  "a stopped child that ignores TERM": [
    "(trap '' TERM HUP; sh -c 'kill -STOP $$; exec sleep NAP') & sleep NAP",
    2,
  ],
  "an interactive shell": ["sleep NAP & exec bash --norc -i", 1],
  "an interactive shell with jobs": ["PS1='' bash --norc -ic 'sleep NAP & sleep NAP'", 2],
  "another shell's children by pipe": ["yes | (trap '' TERM; while read -r x; do sleep NAP; done)", 1],
  "a child without environment": ["env -i /bin/sh -c 'exec sleep NAP' & sleep NAP", 2],
  "a child without environment in a session of its own": ["setsid env -i sleep NAP & sleep NAP", 2],
  "a child that only its parent ties to us": ["setsid env -i sleep NAP <&- >/dev/null 2>&1 & sleep NAP", 2],
  "an orphan that only its session ties to us": [
    "(trap '' HUP; env -i sleep NAP <&- >/dev/null 2>&1 &); sleep NAP",
    2,
  ],
  "a program that answers TERM with children": [
    "trap 'setsid sleep NAP & setsid sleep NAP &' TERM; sleep NAP; sleep NAP",
    1,
  ],
  "a tmux of the user's own": ["tmux -S own-NAP -f /dev/null new-session -d 'sleep NAP'; sleep NAP", 2],
};

/** Orphans in a session of their own, without the thread's environment. */
const ORPHANS = [
  ["", 199, "(setsid env -i sh -c 'sleep NAP & sleep NAP &' <&- >/dev/null 2>&1 &); sleep 1000"],
  [" but the terminal", 197, "(setsid env -i sh -c 'sleep NAP & sleep NAP &' &); sleep 1000"],
] as const;

/** Starts a tree of {@link TREES}, or another, and kills it. */
async function killAll({ client, folders }: TestSidecar, id: number, command: string, sleeps: number) {
  const nap = `1000.0${process.pid}${String(id).padStart(3, "0")}`;
  const threadId = `tree-${id}`;
  await openTerminal(client, threadId, command.replaceAll("NAP", nap));
  const running = () => alive(nap).filter((line) => line.startsWith("sleep ") || line.startsWith("sh -c"));
  await until(`${sleeps} of it to run`, () => running().length >= sleeps);
  expect(await client.killThread(threadId)).toMatchObject({ killed: true, survivors: 0 });
  expect(alive(nap)).toEqual([]);
  const sessions = await folders.tmux("list-sessions", "-F", "#{session_name}");
  expect(sessions.split("\n")).not.toContain(`thread-${threadId}`);
  expect(await client.getThread(threadId)).toMatchObject({ status: "killed", processRunning: false });
}

// Promise: S45, S46
describe.concurrent("the whole tree is gone when kill answers:", () => {
  const trees = Object.entries(TREES).map(([name, tree], id) => [name, id, ...tree] as const);
  test.each(trees)("%s", (_name, id, ...tree) => killAll(sidecar, id, ...tree));
  test.each(trees)("%s, where there are no control groups", (_name, id, ...tree) =>
    killAll(withoutGroups, 100 + id, ...tree),
  );

  // Promise: S45
  test.each(ORPHANS)("an orphan that has left everything%s", (_with, id, command) =>
    killAll(withoutGroups, id, command, 2),
  );

  test.runIf(hasGroups).each(ORPHANS)(
    "an orphan in a control group that has left all else%s",
    (_with, id, command) => killAll(sidecar, id + 1, command, 2),
  );

  // Promise: S45
  test.runIf(hasGroups)("an orphan that has left its control group too", async () => {
    const group = dirname(groups?.pathOf("=x") ?? "");
    const flee = `setsid env -i sh -c 'echo 0 >${dirname(group)}/cgroup.procs; sleep NAP & sleep NAP' <&- >/dev/null 2>&1`;
    await killAll(sidecar, 196, `(${flee} &); sleep 1000`, 2);
  });

  test("what an ended program left behind", async () => {
    const { client } = sidecar;
    const nap = `1000.1${process.pid}`;
    await openTerminal(client, "left-behind", `setsid nohup sleep ${nap} >/dev/null 2>&1 & exit 3`);
    await untilEnded(client, "left-behind");
    await until("the rest", () => alive(`sleep ${nap}`).length === 1);
    expect(await client.killThread("left-behind")).toMatchObject({ exitCode: 3, survivors: 0 });
    expect(alive(nap)).toEqual([]);
  });

  test("other threads are left alone", async () => {
    const { client } = sidecar;
    await openTerminal(client, "neighbour", "cat");
    await openTerminal(client, "neighbour-2", "cat");
    await client.killThread("neighbour-2");
    await client.sendInput("neighbour", { text: "alive" });
    await untilOutput(client, "neighbour", "alive\r\nalive");
  });
});

describe.concurrent("a kill answers with", () => {
  test("the exit code and signal of a program that goes at TERM", async () => {
    const { client } = sidecar;
    await openTerminal(client, "by-term", "echo up; exec sleep 1000");
    await untilOutput(client, "by-term", "up");
    expect((await client.killThread("by-term")).exitCode).toBe(143);
    expect(await client.getThread("by-term")).toMatchObject({ exitCode: 143, signal: "SIGTERM" });
  });

  test("the exit code of a program that tidies up first, and its last words", async () => {
    const { client, reposDir } = sidecar;
    const command =
      "trap 'echo tidying; touch tidied; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    await openTerminal(client, "tidy", command);
    await untilOutput(client, "tidy", "ready");
    expect(await client.killThread("tidy")).toMatchObject({
      exitCode: 7,
      summary: expect.stringMatching(/^ready\n(.*\n)?tidying$/),
    });
    expect(existsSync(join(reposDir, "tidied"))).toBe(true);
  });

  test("the last ten lines as the terminal showed them", async () => {
    const { client } = sidecar;
    const colours = "for i in $(seq 1 30); do printf '\\033[3%dmline\\033[0m %d \\r\\n' $((i % 8)) $i; done";
    await openTerminal(client, "summary", `${colours}; printf '10%%\\r50%%\\r100%%\\n\\n'; exec sleep 1000`);
    await untilOutput(client, "summary", "100%");
    const { summary } = await client.killThread("summary");
    const lines = Array.from({ length: 9 }, (_, i) => `line ${i + 22}`);
    expect(summary.split("\n")).toEqual([...lines, "100%"]);
  });

  test("ten lines at the most, however wide, and none where nothing was printed", async () => {
    const { client } = sidecar;
    await openTerminal(client, "wide", `seq 100 | tr -d '\\n'; seq 20; printf '\\033[Htop'; exec sleep 1000`);
    await untilOutput(client, "wide", "top");
    expect((await client.killThread("wide")).summary.split("\n").length).toBeLessThanOrEqual(10);
    await openTerminal(client, "silent", "exec sleep 1000");
    expect((await client.killThread("silent")).summary).toBe("");
  });
});

describe.concurrent("a kill", () => {
  test("a second time is refused, also at the same moment", async () => {
    const { client } = sidecar;
    await openTerminal(client, "twice", "exec sleep 1000");
    const kills = await Promise.allSettled(Array.from({ length: 4 }, () => client.killThread("twice")));
    expect(kills.filter((result) => result.status === "fulfilled")).toHaveLength(1);
    const thread = await client.getThread("twice");
    expect(await refusal(client.killThread("twice"))).toEqual({
      code: "thread_ended",
      message: "Thread twice takes no input: it was killed.",
    });
    expect(await client.getThread("twice")).toEqual(thread);
  });

  test("while the thread is being made kills what was made", async () => {
    const { client } = sidecar;
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const threadId = `early-${i}`;
        const creating = openTerminal(client, threadId, `exec sleep 1000.77${process.pid}`);
        const killing = client.killThread(threadId).catch((error: { code: string }) => error.code);
        await creating;
        const result = await killing;
        return result === "not_found" ? client.killThread(threadId) : result; // asked before there was any
      }),
    );
    expect(outcomes).toEqual(Array(20).fill(expect.objectContaining({ killed: true, survivors: 0 })));
    expect(alive(`sleep 1000.77${process.pid}`)).toEqual([]);
  });

  test("that comes right behind its thread's creation waits for that", async () => {
    const { hostname, port } = new URL(sidecar.url);
    const line = connect(Number(port), hostname).setEncoding("utf8");
    const post = (path: string, body: object) => {
      const text = JSON.stringify(body);
      const head = ["host: x", `authorization: Bearer ${sidecar.token}`, "content-type: application/json"];
      return [`POST ${path} HTTP/1.1`, ...head, `content-length: ${text.length}`, "", text].join("\r\n");
    };
    const request = { threadId: "heels", type: "terminal", dir: ".", command: "sleep 600" };
    // In one piece: the sidecar begins with both before it has read anything of the disk.
    line.write(post("/thread/create", request) + post("/thread/heels/kill", {}));
    let answers = "";
    line.on("data", (piece: string) => {
      answers += piece;
    });
    await until("both answers", () => answers.match(/HTTP\/1\.1 \d/g)?.length === 2 && answers.endsWith("}"));
    line.destroy();
    expect(answers).toContain('"killed":true');
    expect((await sidecar.client.getThread("heels")).status).toBe("killed");
  });

  test("while output floods ends the flood", async () => {
    const { client } = sidecar;
    await openTerminal(client, "flood", "yes flooding");
    await until("a flood", async () => (await client.getThread("flood")).offset > 1_000_000);
    expect(await client.killThread("flood")).toMatchObject({
      survivors: 0,
      summary: expect.stringContaining("flooding"),
    });
    const { offset } = await client.getThread("flood");
    expect((await client.getThread("flood")).offset).toBe(offset);
  });

  test("of an endless storm of new processes gets them all", async () => {
    const { client } = sidecar;
    const nap = `1000.3${process.pid}`;
    await openTerminal(
      client,
      "storm",
      `trap '' TERM HUP; while :; do setsid sleep ${nap} & sleep 0.01; done`,
    );
    await until("a storm", () => alive(`sleep ${nap}`).length > 20);
    expect(await client.killThread("storm")).toMatchObject({ survivors: 0 });
    expect(alive(nap)).toEqual([]);
  });
});

/** Ignores what it can and forks and exits without end: a look at its pid finds it gone. It holds a lock. */
const HOPPER = `
  use POSIX; use Fcntl ":flock";
  $SIG{$_} = "IGNORE" for qw(TERM HUP INT);
  open(LOCK, ">", $ARGV[0]) && flock(LOCK, LOCK_EX);
  syswrite(STDOUT, "hopping\n");
  for ($end = time + 60; time < $end;) { exit if fork; eval $ARGV[1] }`;

const HOPPERS = [
  ["", true, ""],
  [" into a session of its own each time", true, "POSIX::setsid()"],
  [", where there are no control groups", false, ""],
] as const;

for (const [how, canUseCgroups, onHop] of HOPPERS) {
  test.runIf(hasGroups || !canUseCgroups)(
    `a program that forks and exits without end${how} is gone`,
    async () => {
      const { client, stateDir, reposDir } = canUseCgroups ? sidecar : withoutGroups;
      const listGroups = () => readdirSync(Cgroups.open(stateDir)?.pathOf("=") ?? "/var/empty").sort();
      const before = canUseCgroups ? listGroups() : [];
      for (let i = 0; i < inFull(5, 2); i++) {
        const threadId = `hopper-${HOPPERS.findIndex(([name]) => name === how)}-${i}`;
        const lock = join(reposDir, threadId);
        await openTerminal(client, threadId, `exec perl -e '${HOPPER}' ${lock} '${onHop}'`);
        await untilOutput(client, threadId, "hopping");
        expect(await client.killThread(threadId)).toMatchObject({ killed: true, survivors: 0 });
        await run("flock", ["--nonblock", lock, "true"]); // fails while any of them holds it
      }
      if (canUseCgroups) expect(listGroups()).toEqual(before);
    },
  );
}

test("a kill answers when the log has the program's last words, also where its writer is behind", async () => {
  const { client, stateDir } = sidecar;
  const command = "trap 'seq 30000; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
  await openTerminal(client, "last-words", command);
  await untilOutput(client, "last-words", "ready");
  const sink = Number(readFileSync(join(stateDir, "runs/last-words.sink"), "utf8"));
  signal(sink, "SIGSTOP");
  const killing = client.killThread("last-words");
  // Not by its process: tmux can miss its end for a while (a lost SIGCHLD before 3.6), and leaves a zombie.
  await until("the program to end", () => existsSync(join(stateDir, "runs/last-words.1")));
  const answered = killing.then(() => "answered");
  expect(await Promise.race([answered, pause(500).then(() => "waits for the log")])).toBe(
    "waits for the log",
  );
  signal(sink, "SIGCONT");
  expect(await killing).toMatchObject({ exitCode: 0, survivors: 0 });
  // bash may remark that the sleep under way was ended.
  const log = (await readAll(client, "last-words")).output.replace("Terminated\r\n", "");
  expect(log).toHaveLength(7 + 168_894 + 30_000);
  expect(log.slice(-14)).toBe("29999\r\n30000\r\n");
});

const CYCLES = inFull(200, 60);

test(`${CYCLES} threads made and killed leave no file open and no process`, {
  timeout: 180_000,
}, async () => {
  const { client, folders, stateDir } = sidecar;
  const openFiles = (pid: number | "self") => readdirSync(`/proc/${pid}/fd`).length;
  const tmuxPid = folders.tmuxPid();
  const round = async (name: string, count: number) => {
    for (let i = 0; i < count; i += 20) {
      const ids = Array.from({ length: 20 }, (_, j) => `${name}-${i + j}`);
      await Promise.all(ids.map((id) => openTerminal(client, id, `exec sleep 1000.88${process.pid}`)));
      await Promise.all(ids.map((id) => client.killThread(id)));
    }
  };
  await round("warm", 20);
  const before = { own: openFiles("self"), tmux: openFiles(tmuxPid) };
  await round("cycle", CYCLES);
  await until(
    "all files to be closed",
    () => openFiles(tmuxPid) <= before.tmux && openFiles("self") <= before.own + 12,
  );
  expect(alive(`sleep 1000.88${process.pid}`)).toEqual([]);
  const sinks = listProcesses().filter((p) => p.command === "cat" && p.ppid === tmuxPid);
  const open = (await client.listThreads()).length;
  expect(sinks.length).toBeLessThanOrEqual(open);
  expect(readFileSync(join(stateDir, "tmux.pid"), "utf8")).toBe(`${tmuxPid}\n`);
});
