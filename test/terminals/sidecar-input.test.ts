import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InputRequest } from "../../shared/input-api.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

const RECORDER = fileURLToPath(new URL("../fixtures/record-bytes.mjs", import.meta.url));

let sidecar: TestSidecar;
let threadCount = 0;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 200 });
});
afterAll(() => sidecar.close());

/** A thread with a program in raw mode; `type` sends, waits for a final `.` and gives the bytes that came in between. */
async function openRecorder() {
  const threadId = `recorder-${++threadCount}`;
  const file = join(sidecar.reposDir, threadId);
  await openTerminal(sidecar.client, threadId, `${process.execPath} ${RECORDER} ${threadId}`);
  await untilOutput(sidecar.client, threadId, "READY");
  const type = async (...inputs: InputRequest[]): Promise<Buffer> => {
    const before = readFileSync(file).length;
    for (const input of inputs) await sidecar.client.sendInput(threadId, input);
    await sidecar.client.sendInput(threadId, { text: "<END>", enter: false });
    const arrived = () => readFileSync(file).subarray(before);
    await until("the input to arrive", () => arrived().subarray(-5).toString() === "<END>");
    return arrived().subarray(0, -5);
  };
  return { threadId, type };
}

const TEXTS: Record<string, string> = {
  "a key's name": "Enter",
  "another key's name": "C-c",
  "a semicolon": ";",
  "a semicolon at the end": "hi;",
  "an escaped semicolon": "a\\;",
  "an option": "-rf",
  "the end of options": "--",
  "a substitution": "$(id)",
  backticks: "`id`",
  "variables and quotes": `$HOME "x" 'y' \\`,
  "tmux formats": "#{pane_pid} #(id) %H %% %begin 1 1 1",
  braces: "{ } %if ~root",
  "an emoji": "👩‍👩‍👧‍👦 😀",
  "wide and combined": "日本語 e\u0301 ü ß",
  spaces: "  two  ",
  "nothing but a space": " ",
  "lines of several kinds": "one\ntwo\r\nthree\r",
  "control characters":
    "\x01\x02\x03\x04\x05\x06\x07\b\t\v\f\x0e\x0f\x11\x12\x13\x14\x15\x16\x17\x18\x1a\x1c\x1d\x1e\x1f\x7f",
  "escape sequences": "\x1b[A \x1b[200~x\x1b[201~ \x1b]0;t\x07 \x1b",
  NUL: "a\0b\0",
  "C1 controls and a byte order mark": "\u0080\u009b\ufeff",
  "3,900 bytes": "0123456789".repeat(390),
};

// Promise: S8
describe("what is typed arrives byte for byte", () => {
  test("texts", async () => {
    const { type } = await openRecorder();
    for (const [name, text] of Object.entries(TEXTS)) {
      expect([name, (await type({ text, enter: false })).toString()]).toEqual([name, text]);
      expect([name, (await type({ text })).toString()]).toEqual([name, `${text}\r`]);
    }
  });

  test("no text at all: only Enter, or nothing", async () => {
    const { type } = await openRecorder();
    expect(await type({ text: "" })).toEqual(Buffer.from("\r"));
    expect(await type({ text: "", enter: false })).toEqual(Buffer.alloc(0));
  });

  test("200 KB of many lines, and 300 KB in a single one, to a program in raw mode", async () => {
    const { type } = await openRecorder();
    const lines = Array.from({ length: 3_000 }, (_, i) => `${i} ${"ü".repeat(30)}\n`).join("");
    expect((await type({ text: lines, enter: false })).equals(Buffer.from(lines))).toBe(true);
    const line = "x;".repeat(150_000);
    expect((await type({ text: line, enter: false })).equals(Buffer.from(line))).toBe(true);
  });

  test("twenty inputs at once come whole, each in one piece", async () => {
    const { threadId, type } = await openRecorder();
    const texts = Array.from({ length: 20 }, (_, i) => `<${String(i).repeat(1_500)}>`);
    await Promise.all(texts.map((text) => sidecar.client.sendInput(threadId, { text, enter: false })));
    await type();
    const all = readFileSync(join(sidecar.reposDir, threadId), "utf8").replaceAll("<END>", "");
    expect(all.match(/<\d+>/g)?.sort()).toEqual([...texts].sort());
    expect(all).toHaveLength(texts.join("").length);
  });
});

test("keys arrive as a keyboard sends them", async () => {
  const { type } = await openRecorder();
  const keys: Record<string, string> = {
    Enter: "\r",
    Escape: "\x1b",
    Tab: "\t",
    BTab: "\x1b[Z",
    Space: " ",
    BSpace: "\x7f",
    Up: "\x1b[A",
    Down: "\x1b[B",
    Right: "\x1b[C",
    Left: "\x1b[D",
    Home: "\x1b[1~",
    End: "\x1b[4~",
    PageUp: "\x1b[5~",
    PPage: "\x1b[5~",
    PageDown: "\x1b[6~",
    NPage: "\x1b[6~",
    IC: "\x1b[2~",
    Insert: "\x1b[2~",
    DC: "\x1b[3~",
    Delete: "\x1b[3~",
    F1: "\x1bOP",
    F5: "\x1b[15~",
    F12: "\x1b[24~",
    "C-c": "\x03",
    "C-d": "\x04",
    "C-z": "\x1a",
    "C-[": "\x1b",
    "M-x": "\x1bx",
    "M-Enter": "\x1b\r",
    "C-Right": "\x1b[1;5C",
    "S-Up": "\x1b[1;2A",
    a: "a",
    ";": ";",
    "-": "-",
    '"': '"',
    $: "$",
    "#": "#",
  };
  const seen: Record<string, string> = {};
  for (const key of Object.keys(keys)) seen[key] = (await type({ key })).toString();
  expect(seen).toEqual(keys);
});

test("every key that is taken has the bytes that a terminal has for it, or begins with an escape", async () => {
  const { type } = await openRecorder();
  const characters = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));
  const control = (c: string) => String.fromCharCode(c === "?" ? 127 : c.toUpperCase().charCodeAt(0) & 31);
  const keys: Record<string, string> = { "C-Space": "\0", "C-M-x": "\x1b\x18", "S-Tab": "\x1b[Z" };
  for (const c of characters) {
    keys[c] = c;
    keys[`M-${c}`] = `\x1b${c}`;
    if (/[A-Za-z@[\]\\^_?]/.test(c)) keys[`C-${c}`] = control(c);
  }
  const seen: Record<string, string> = {};
  for (const key of Object.keys(keys)) seen[key] = (await type({ key })).toString();
  expect(seen).toEqual(keys);
  for (const modifiers of ["C-", "M-", "S-", "C-S-", "M-S-", "C-M-", "C-M-S-"]) {
    for (const key of ["Up", "Home", "PPage", "Delete", "F1", "F12"]) {
      const bytes = (await type({ key: modifiers + key })).toString();
      expect([bytes.slice(0, 1), bytes.length > 2], modifiers + key).toEqual(["\x1b", true]);
    }
  }
});

test.each([
  ...["", "Foo", "C-", "C-Foo", "enter", "F13", "ab", "é", "C-c C-d", "-t", "\n"],
  ...["S-a", "S-!", "M-S-x", "S-Space", "S-Enter", "C-S-Escape", "C-!", "C-1", "C-;", "C-Tab", "C-BSpace"],
])("%j is no key and is refused by name", async (key) => {
  const { client } = sidecar;
  const { code, message } = await refusal(client.sendInput("recorder-1", { key }));
  expect([code, message]).toEqual([
    "invalid_request",
    expect.stringContaining("key: must be a tmux key name"),
  ]);
});

test("C-c interrupts a program, C-d ends a shell's input", async () => {
  const { client } = sidecar;
  await openTerminal(client, "interrupted", "echo started; sleep 1000; echo not reached");
  await untilOutput(client, "interrupted", "started");
  await client.sendInput("interrupted", { key: "C-c" });
  expect(await untilEnded(client, "interrupted")).toMatchObject({ exitCode: 130, signal: "SIGINT" });
  await openTerminal(client, "shell", "PS1='> ' bash --norc -i");
  await untilOutput(client, "shell", "> ");
  await client.sendInput("shell", { text: "PS1='ready> '; (exit 7)" });
  // At its prompt it reads the key itself; before, the terminal would take it for the running command.
  await untilOutput(client, "shell", "hready> ");
  await client.sendInput("shell", { key: "C-d" });
  expect(await untilEnded(client, "shell")).toMatchObject({ exitCode: 7, signal: null });
});

describe("a line over 4,000 bytes", () => {
  test("is refused in line mode, where the kernel would cut it; nothing of it is typed", async () => {
    const { client, reposDir } = sidecar;
    await openTerminal(client, "line-mode", "exec 3> lines.txt; echo READY; cat >&3");
    await untilOutput(client, "line-mode", "READY");
    const refused = ["x".repeat(4_001), `short\n${"y".repeat(4_001)}\nshort`, "ü".repeat(2_001)];
    for (const text of refused) {
      expect(await refusal(client.sendInput("line-mode", { text }))).toMatchObject({
        code: "too_large",
        message: expect.stringContaining("kernel cuts lines over 4,000"),
      });
    }
    await client.sendInput("line-mode", { text: `${"z".repeat(4_000)}\n${"w".repeat(4_000)}` });
    const read = () => readFileSync(join(reposDir, "lines.txt"), "utf8");
    const all = await untilValue("both lines", read, (text) => text.split("\n").length > 2);
    expect(all).toBe(`${"z".repeat(4_000)}\n${"w".repeat(4_000)}\n`);
  });

  test("is refused too where it comes in parts, until the line is finished", async () => {
    const { client, reposDir } = sidecar;
    await openTerminal(client, "parts", "exec 3> parts.txt; echo READY; cat >&3");
    await untilOutput(client, "parts", "READY");
    const type = (text: string) => client.sendInput("parts", { text, enter: false });
    await type("x".repeat(3_000));
    await client.sendInput("parts", { key: "b" }); // no end of the line
    expect(await refusal(type("y".repeat(1_001)))).toMatchObject({ code: "too_large" });
    await type("z".repeat(1_000));
    await client.sendInput("parts", { key: "Enter" });
    await type(`${"w".repeat(3_000)}\n`);
    const read = () => readFileSync(join(reposDir, "parts.txt"), "utf8");
    const all = await untilValue("both lines", read, (text) => text.split("\n").length > 2);
    expect(all).toBe(`${"x".repeat(3_000)}b${"z".repeat(1_000)}\n${"w".repeat(3_000)}\n`);
  });

  test("is fine in raw mode", async () => {
    const { type } = await openRecorder();
    const text = "x".repeat(20_000);
    expect((await type({ text })).toString()).toBe(`${text}\r`);
  });
});

describe("input to a thread that takes none", () => {
  test("is refused from the moment its process has ended", async () => {
    const { client, reposDir } = sidecar;
    await openTerminal(client, "quick", "read line; touch ended; exit 5");
    await client.sendInput("quick", { text: "go" });
    await until("the end", () => readFileSync(join(reposDir, "ended")));
    // The shell itself needs a moment more to end; a thread that says it runs must have taken what it accepts.
    await until("a refusal", () => refusal(client.sendInput("quick", { text: "late" })));
    for (const input of [{ text: "late" }, { key: "C-c" }, { text: "x".repeat(5_000) }]) {
      expect(await refusal(client.sendInput("quick", input))).toEqual({
        code: "thread_ended",
        message: "Thread quick takes no input: its process has ended.",
      });
    }
    expect(await untilEnded(client, "quick")).toMatchObject({ exitCode: 5 });
  });

  test("is refused after a kill, and where there is no such thread", async () => {
    const { client } = sidecar;
    await openTerminal(client, "killed", "cat");
    await client.killThread("killed");
    expect(await refusal(client.sendInput("killed", { text: "late" }))).toEqual({
      code: "thread_ended",
      message: "Thread killed takes no input: it was killed.",
    });
    expect(await refusal(client.sendInput("nobody", { text: "x" }))).toEqual({
      code: "not_found",
      message: 'There is no thread "nobody".',
    });
  });
});

test("an inputId goes in once, however often it is sent, also over a restart", async () => {
  const { client } = sidecar;
  await openTerminal(client, "once", "cat");
  const ids = ["1", `;"$#{x}'\\`, "-g"];
  for (const inputId of ids) {
    expect(await client.sendInput("once", { text: `input ${inputId}`, inputId })).toEqual({ sent: true });
    const again = await Promise.all([1, 2].map(() => client.sendInput("once", { text: "again", inputId })));
    expect(again).toEqual(Array(2).fill({ sent: true, duplicate: true }));
  }
  await sidecar.restart();
  for (const inputId of ids) {
    expect(await client.sendInput("once", { text: "again", inputId })).toMatchObject({ duplicate: true });
  }
  // The sidecar may have died before it could write down that tmux had typed one; others go in before it is repeated.
  await client.sendInput("once", { text: "typed", inputId: "in-doubt" });
  await sidecar.stop();
  const db = new Database(join(sidecar.stateDir, "threadmux.db"));
  db.prepare("UPDATE inputs SET is_sent = 0 WHERE input_id = 'in-doubt'").run();
  db.prepare("INSERT INTO inputs (thread_id, input_id, is_sent) VALUES ('once', 'never', 0)").run();
  db.close();
  await sidecar.restart();
  await client.sendInput("once", { text: "another", inputId: "another" });
  expect(await client.sendInput("once", { text: "again", inputId: "in-doubt" })).toMatchObject({
    duplicate: true,
  });
  expect(await client.sendInput("once", { text: "never typed before", inputId: "never" })).toEqual({
    sent: true,
  });
  await client.sendInput("once", { text: "last" });
  // The terminal shows what is typed before cat, which may be late, says it again.
  const read = async () => (await readAll(client, "once")).output;
  const log = await untilValue("all to be said again", read, (all) => all.match(/last\r\n/g)?.length === 2);
  expect(log).not.toContain("again");
  expect(log).toContain("never typed before\r\n");
  expect(log.match(/input 1\r\n/g)).toHaveLength(2);
});
