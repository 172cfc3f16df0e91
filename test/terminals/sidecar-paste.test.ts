/** What is pasted: one paste for a program that asked for it, lines for any other, never cut by what the text holds. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InputRequest } from "../../shared/input-api.ts";
import { pause } from "../../shared/lifecycle.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilOutput } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

const RECORDER = fileURLToPath(new URL("../fixtures/record-bytes.mjs", import.meta.url));
const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

let sidecar: TestSidecar;
let threadCount = 0;
beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
});
afterAll(() => sidecar.close());

/** A program in raw mode; `type` gives all that it gets of an input. */
async function openRecorder(asks: "paste" | "nothing", before = "") {
  const threadId = `recorder-${++threadCount}`;
  const file = join(sidecar.reposDir, threadId);
  await openTerminal(
    sidecar.client,
    threadId,
    `${before}exec ${process.execPath} ${RECORDER} ${threadId} ${asks}`,
  );
  await untilOutput(sidecar.client, threadId, "READY");
  const type = async (input: InputRequest): Promise<string> => {
    const start = readFileSync(file).length;
    await sidecar.client.sendInput(threadId, input);
    await sidecar.client.sendInput(threadId, { text: "<END>", enter: false });
    const arrived = () => readFileSync(file).subarray(start).toString();
    return (await untilValue("the input to arrive", arrived, (text) => text.endsWith("<END>"))).slice(0, -5);
  };
  return { threadId, type };
}

/** A shell with a line editor, at its prompt. */
async function openShell() {
  const threadId = `shell-${++threadCount}`;
  await openTerminal(sidecar.client, threadId, "PS1='ready> ' bash --norc --noprofile -i; :");
  await untilOutput(sidecar.client, threadId, "ready> ");
  return threadId;
}

const isThere = (program: string) => spawnSync(program, ["--version"]).status === 0;

const BLOCK = "def f(x):\n    if x:\n        return 1\n\n    return 2";

describe("a program that asked for pastes", () => {
  test("gets several lines as one paste, with one Enter after it if that is wanted", async () => {
    const { type } = await openRecorder("paste");
    const framed = `${BEGIN}${BLOCK.replaceAll("\n", "\r")}${END}`;
    expect(await type({ text: BLOCK })).toBe(`${framed}\r`);
    expect(await type({ text: BLOCK, enter: false })).toBe(framed);
    expect(await type({ text: BLOCK, paste: true })).toBe(`${framed}\r`);
    expect(await type({ text: BLOCK.replaceAll("\n", "\r\n"), paste: true })).toBe(`${framed}\r`);
    const large = Array.from({ length: 3_000 }, (_, i) => `\t${i} ${"ü;".repeat(30)}`);
    expect(await type({ text: large.join("\n") })).toBe(`${BEGIN}${large.join("\r")}${END}\r`);
  });

  test("gets one line as a paste only if the caller says so, and lines as keys if the caller says that", async () => {
    const { type } = await openRecorder("paste");
    expect(await type({ text: "ls" })).toBe("ls\r");
    expect(await type({ text: "ls\n", enter: false })).toBe("ls\n");
    expect(await type({ text: "ls\tx", paste: true })).toBe(`${BEGIN}ls\tx${END}\r`);
    expect(await type({ text: "", paste: true })).toBe("\r");
    expect(await type({ text: "\x1b", paste: true })).toBe("\r");
    expect(await type({ text: "one\ntwo", paste: false })).toBe("one\ntwo\r");
    expect(await type({ text: "y\rn" })).toBe("y\rn\r"); // Enter pressed, as a key
  });

  test("no text ends the paste, or is taken for a key in its midst", async () => {
    const { type } = await openRecorder("paste");
    const part = fc.oneof(
      fc.constantFrom(END, BEGIN, "\x1b", "[201~", "\x1b[20", "1~", "\x9b201~", "\x9b", "\n", "\r\n", "\r"),
      fc.constantFrom("\x03", "\x1a", "\x1c", "\x11", "\x13", "\x90", "\x1bP", "\x1b\x1b", "\x0f", "\x04"),
      fc.string({ unit: "binary", maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 12 }), async (parts) => {
        const got = await type({ text: `a\n${parts.join("")}\nrm -rf x`, paste: true });
        expect(got.startsWith(`${BEGIN}a\r`) && got.endsWith(`\rrm -rf x${END}\r`)).toBe(true);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
        expect(got.slice(6, -7)).not.toMatch(/[\x03\x11\x13\x1a\x1b\x1c\x80-\x9f]/);
      }),
      { numRuns: 6, seed: 20_261_125 },
    );
    // With what a caller framed by itself, a program gets the same.
    expect(await type({ text: `${BEGIN}one\ntwo${END}` })).toBe(`${BEGIN}one\rtwo${END}\r`);
  });

  test("gets one also if it reads whole lines: the terminal's mode decides, as in any terminal", async () => {
    const { client, reposDir } = sidecar;
    await openTerminal(client, "whole-lines", "printf '\\033[?2004hREADY\\n'; exec cat > whole-lines.txt");
    await untilOutput(client, "whole-lines", "READY");
    await client.sendInput("whole-lines", { text: "one\ntwo" });
    const read = () => readFileSync(join(reposDir, "whole-lines.txt"), "utf8");
    const lines = await untilValue("the lines", read, (text) => text.includes("two"));
    expect(lines).toBe(`${BEGIN}one\ntwo${END}\n`);
  });

  test("gets a megabyte in one piece", async () => {
    const { type } = await openRecorder("paste");
    const line = `${"0123456789".repeat(10)}\n`;
    const text = line.repeat(Math.floor((1024 * 1024 - 2_000) / (line.length + 1)));
    expect((await type({ text })) === `${BEGIN}${text.replaceAll("\n", "\r")}${END}\r`).toBe(true);
  });

  test("an inputId is pasted once, also over a restart", async () => {
    const { threadId, type } = await openRecorder("paste");
    const input = { text: "one\ntwo", inputId: "p1" };
    expect(await type(input)).toBe(`${BEGIN}one\rtwo${END}\r`);
    await sidecar.restart();
    expect(await sidecar.client.sendInput(threadId, input)).toMatchObject({ duplicate: true });
    expect(await type({ text: "a\nb" })).toBe(`${BEGIN}a\rb${END}\r`); // known still
  });
});

test("what is neither a paste nor none is refused by its name", async () => {
  for (const paste of ["maybe", 1, null, ["auto"]]) {
    const input = { text: "one\ntwo", paste } as InputRequest;
    expect(await refusal(sidecar.client.sendInput("nobody", input))).toEqual({
      code: "invalid_request",
      message: 'paste: must be true, false or "auto".',
    });
  }
  const key = { key: "Up", paste: true } as InputRequest;
  expect((await refusal(sidecar.client.sendInput("nobody", key))).message).toMatch(/paste/);
});

describe("a program that did not ask", () => {
  test("gets lines as before", async () => {
    const { type } = await openRecorder("nothing");
    expect(await type({ text: BLOCK })).toBe(`${BLOCK}\r`);
    expect(await type({ text: BLOCK, paste: true })).toBe(`${BLOCK.replaceAll("\n", "\r")}\r`);
    expect(await type({ text: "\x1b[A\nx" })).toBe("\x1b[A\nx\r");
  });

  test("nor one that asked and took it back, or whose terminal was reset", async () => {
    for (const before of [
      "printf '\\033[?2004h\\033[?1;2004;7l'; ",
      "printf '\\033[?2004h\\033c'; ",
      "printf '\\033[?2004'; sleep 0; printf 'l'; ",
    ]) {
      const { type } = await openRecorder("nothing", before);
      expect(await type({ text: "a\nb" })).toBe("a\nb\r");
    }
    const { type } = await openRecorder("nothing", "printf '\\033[?2004l\\033[?25;2004h'; ");
    expect(await type({ text: "a\nb" })).toBe(`${BEGIN}a\rb${END}\r`);
  });

  test("that it asked is found below much that it printed since", async () => {
    const { type } = await openRecorder("paste", "");
    expect(await type({ text: "a\nb" })).toBe(`${BEGIN}a\rb${END}\r`);
    const { type: typeLater } = await openRecorder(
      "nothing",
      `printf '\\033[?2004h'; yes 2004 | head -c 600000; `,
    );
    expect(await typeLater({ text: "a\nb" })).toBe(`${BEGIN}a\rb${END}\r`);
  });

  test("has tabs quoted if its line editor can, and the person is asked if nobody knows", async () => {
    const { client } = sidecar;
    const text = "cat <<'E'\n\tone\n\t\ttwo\nE\necho $((40+2))";
    const shell = await openShell();
    await client.sendInput(shell, { text: "bind 'set enable-bracketed-paste off'; PS1='off> '" });
    await untilOutput(client, shell, "2004l\roff> ");
    await client.sendInput(shell, { text });
    expect(await untilOutput(client, shell, "\n42")).toContain("\n\tone\r\n\t\ttwo\r\n");

    const { threadId, type } = await openRecorder("nothing");
    expect(await refusal(client.sendInput(threadId, { text: "a:\n\techo" }))).toEqual({
      code: "would_complete",
      message: expect.stringMatching(/^text: holds tabs, which node may .*paste: false/),
    });
    expect(await type({ text: "a:\n\techo", paste: false })).toBe("a:\n\techo\r");
    const { type: fullScreen } = await openRecorder("nothing", "printf '\\033[?1049h'; ");
    expect(await fullScreen({ text: "a:\n\techo" })).toBe("a:\n\techo\r");
  });
});

describe("real programs", () => {
  test("a program that a shell starts just before gets lines, not the shell's paste", async () => {
    const { client, reposDir } = sidecar;
    const shell = await openShell();
    await client.sendInput(shell, { text: "echo pid=$$ $((40+2))" });
    const pid = Number(/pid=(\d+)/.exec(await untilOutput(client, shell, " 42\r\n"))?.[1]);
    process.kill(pid, "SIGSTOP"); // a slow shell: it reads its Enter late
    await client.sendInput(shell, { text: "cat > typed.txt" });
    const pasted = client.sendInput(shell, { text: "one\n\ttwo" });
    await Promise.race([pasted, pause(100)]);
    process.kill(pid, "SIGCONT");
    await pasted;
    await client.sendInput(shell, { key: "C-d" });
    await client.sendInput(shell, { text: "echo $((40+3))" });
    await untilOutput(client, shell, "2004l\r43");
    expect(readFileSync(join(reposDir, "typed.txt"), "utf8")).toBe("one\n\ttwo\n");
  });

  test("bash runs a block once, also one that holds the end of a paste", async () => {
    const { client, reposDir } = sidecar;
    const shell = await openShell();
    await client.sendInput(shell, { text: 'for i in 1 2; do\n\techo "<$i>"\ndone' });
    await untilOutput(client, shell, "<1>\r\n<2>\r\n");
    const attack = `: a${END}\n\x03\ntouch broken-out\n\x1b[20\x1b[201~1~\n: b`;
    await client.sendInput(shell, { text: attack, enter: false });
    await untilOutput(client, shell, ": b");
    // Not C-c: while bash still draws the paste, the signal leaves parts of it in the line.
    await client.sendInput(shell, { key: "C-u" });
    await client.sendInput(shell, { text: "echo $((40+2))" });
    await untilOutput(client, shell, "2004l\r42\r\n");
    expect(existsSync(join(reposDir, "broken-out"))).toBe(false);
  });

  test.skipIf(!isThere("python3"))("the Python prompt gets a block with tabs", async () => {
    const { client } = sidecar;
    await openTerminal(client, "python", "python3 -q");
    await untilOutput(client, "python", ">>> ");
    await client.sendInput("python", { text: "for i in (1, 2):\n\tif i > 1:\n\t\tprint(f'<{i}>')\n" });
    await untilOutput(client, "python", "<2>\r\n");
  });

  test.skipIf(!isThere("vim"))("vim in insert mode keeps an indented block as it is", async () => {
    const { client, reposDir } = sidecar;
    await openTerminal(client, "vim", "vim -N -u NONE -c 'set autoindent' block.py");
    await untilOutput(client, "vim", "[New]");
    await client.sendInput("vim", { text: "i", enter: false });
    await untilOutput(client, "vim", "INSERT");
    await client.sendInput("vim", { text: BLOCK, enter: false });
    await client.sendInput("vim", { key: "Escape" });
    await client.sendInput("vim", { text: ":wq" });
    const file = join(reposDir, "block.py");
    await until("the file", () => existsSync(file) && readFileSync(file, "utf8") !== "");
    expect(readFileSync(file, "utf8")).toBe(`${BLOCK}\n`);
  });
});
