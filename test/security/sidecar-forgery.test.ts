/** What a program prints stays text, also where it looks like what tmux says to the sidecar. */
import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

const ROWS = 200;
const COLS = 100;

let sidecar: TestSidecar;
let spy: ChildProcess;
/** The second and the number of tmux's newest reply: what a program would have to guess. */
let newest: { second: number; number: number };

beforeAll(async () => {
  sidecar = await startSidecar();
  await openTerminal(sidecar.client, "forger", "stty -echo; echo ready; exec cat", {
    cols: COLS,
    rows: ROWS,
  });
  await openTerminal(sidecar.client, "other", "printf 'calm\\033]2;calm title\\007'; exec cat");
  await untilOutput(sidecar.client, "forger", "ready");
  await untilOutput(sidecar.client, "other", "calm");
  const socket = ["-S", `${sidecar.stateDir}/tmux.sock`];
  spy = spawn("tmux", ["-u", ...socket, "-C", "attach-session", "-f", "no-output", "-t", "=_ctl:"]);
  if (!spy.stdout) throw new Error("no output to read");
  createInterface({ input: spy.stdout }).on("line", (line) => {
    const [, second, number] = /^%end (\d+) (\d+) 1$/.exec(line) ?? [];
    if (number !== undefined) newest = { second: Number(second), number: Number(number) };
  });
});
afterAll(async () => {
  spy.stdin?.end();
  await sidecar.close();
});

async function findTty(session: string): Promise<string> {
  return (await sidecar.folders.tmux("list-panes", "-t", `=${session}:`, "-F", "#{pane_tty}")).trim();
}

async function askForNumber(): Promise<{ second: number; number: number }> {
  const before = newest;
  spy.stdin?.write("display-message -p x\n");
  return until("tmux's newest number", () => newest !== before && newest);
}

/** What tmux may say, for the reply that is `later` replies and `seconds` from the newest. */
const LINES: Record<string, (later: number, seconds: number) => string> = {
  "the end of a reply": (later, seconds) => `%end ${newest.second + seconds} ${newest.number + later} 1`,
  "a refusal": (later, seconds) => `%error ${newest.second + seconds} ${newest.number + later} 1`,
  "a reply's begin": (later, seconds) => `%begin ${newest.second + seconds} ${newest.number + later} 1`,
  "all there is": (later, seconds) => {
    const words = ["%begin", "%end", "%error"].map(
      (word) => `${word} ${newest.second + seconds} ${newest.number + later} 1`,
    );
    const others = ["%exit", "%sessions-changed", "%output %1 x", "%unlinked-window-close @1", "%pause %1"];
    return [...words, ...others, "%session-changed $0 _ctl"][later % 9] ?? "";
  },
};

// Promise: S19
test.each(Object.entries(LINES))("a program that prints %s ends nobody's screen", async (_what, line) => {
  const { client, folders } = sidecar;
  const tty = await findTty("thread-forger");
  for (let round = 0; round < 10; round++) {
    await askForNumber();
    const lines = Array.from({ length: ROWS - 2 }, (_, i) => line(i >> 1, i % 2));
    const title = lines[round] ?? "";
    const mark = `round ${round}`;
    writeFileSync(tty, `\x1b[H\x1b[2J\x1b]2;${title}\x07${[...lines, mark].join("\r\n")}`);
    const [forged, others] = await Promise.all([
      untilValue(
        `${mark} on the screen`,
        () => client.getScreen("forger", { format: round % 2 === 0 ? "text" : "ansi" }),
        ({ screen }) => screen.includes(mark),
      ),
      Promise.all(Array.from({ length: 5 }, () => client.getScreen("other"))),
    ]);
    expect(forged.screen.split("\n").map((shown) => shown.trimEnd())).toEqual([...lines, mark, ""]);
    expect(forged.title).toBe(title);
    for (const other of others) {
      expect(other).toMatchObject({ title: "calm title", screen: expect.stringMatching(/^calm\n*$/) });
    }
  }
  expect(await client.getHealth()).toMatchObject({ ok: true });
  const clients = await folders.tmux("list-clients", "-F", "#{client_control_mode}");
  expect(clients.trim().split("\n")).toHaveLength(2); // ours and the spy
});

// Promise: S19
test("the last lines that a kill tells are a program's own", async () => {
  const { client } = sidecar;
  const tty = await findTty("thread-forger");
  await askForNumber();
  const lines = Array.from({ length: ROWS - 2 }, (_, i) => LINES["a refusal"]?.(i >> 1, i % 2) ?? "");
  writeFileSync(tty, `\x1b[H\x1b[2J${[...lines, "the end"].join("\r\n")}`);
  await until("all of it to be shown", async () =>
    (await client.getScreen("forger")).screen.includes("the end"),
  );
  const { summary } = await client.killThread("forger");
  expect(summary.split("\n")).toEqual([...lines.slice(-9), "the end"]);
});
