import { createHash } from "node:crypto";
import { spawn } from "node-pty";
import { expect, onTestFinished, test, vi } from "vitest";
import { RUN_VARIABLE, runId } from "../../test/support/folders.ts";
import { until } from "../../test/support/wait.ts";
import type { Patience } from "./large-writes.ts";
import { TerminalWriter } from "./terminal-writer.ts";

const env = { PATH: process.env["PATH"] ?? "", [RUN_VARIABLE]: runId() };

/** A terminal in which a shell command runs; it says `ready` once it takes what is typed. */
async function open(command: string, patience?: Patience) {
  const pty = spawn("sh", ["-c", `stty raw -echo; echo ready; ${command}`], { env });
  const writer = new TerminalWriter(pty, patience);
  let shown = "";
  let isOver = false;
  pty.onData((data) => {
    shown += data;
  });
  pty.onExit(() => {
    isOver = true;
  });
  onTestFinished(async () => {
    pty.kill("SIGKILL");
    await until("its end", () => isOver);
  });
  await until("the program", () => shown.includes("ready"));
  return { pty, writer, shown: () => shown, isOver: () => isOver };
}

test("all that is written arrives in order, also what a full terminal takes later", async () => {
  const bytes = 300_000;
  const { pty, writer, shown } = await open(`head -c ${bytes} | sha256sum`);
  const text = Array.from({ length: bytes }, (_, i) => String.fromCharCode(97 + ((i * i) % 26))).join("");
  for (let i = 0; i < bytes; i += 1_000) pty.write(text.slice(i, i + 1_000));
  expect(writer.waitingBytes).toBeGreaterThan(0);
  const wanted = createHash("sha256").update(text).digest("hex");
  await until("all of it", () => shown().includes(wanted));
  expect(writer.waitingBytes).toBe(0);
});

test("nothing is written any more into a terminal that is closed", async () => {
  const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  const { pty, writer, isOver } = await open("exec sleep 1000");
  pty.write("x".repeat(1024 * 1024)); // more than the kernel takes
  expect(writer.waitingBytes).toBeGreaterThan(0);
  pty.kill("SIGKILL");
  await until("its end", isOver);
  expect(writer.waitingBytes).toBe(0);
  expect(said).not.toHaveBeenCalled();
});

test("a large write waits for patience, and what comes behind it waits for its turn", async () => {
  const calls: string[] = [];
  let grant: () => void = () => undefined;
  const patience: Patience = {
    hold: () => {
      calls.push("hold");
      return new Promise((resolve) => {
        grant = resolve;
      });
    },
    release: async () => void calls.push(`release with ${writer.waitingBytes} bytes waiting`),
  };
  const { pty, writer, shown } = await open("exec cat", patience);
  pty.write("a key, ");
  await until("the key", () => shown().includes("a key"));
  expect(calls).toEqual([]);
  pty.write("p".repeat(5_000));
  pty.write(" another key");
  expect(calls).toEqual(["hold"]);
  expect(writer.waitingBytes).toBe(5_012);
  grant();
  await until("all of it", () => shown().endsWith(`${"p".repeat(5_000)} another key`));
  await until("the patience to be let go", () => calls.length > 1);
  expect(calls).toEqual(["hold", "release with 0 bytes waiting"]);
});

test("patience is let go if the terminal ends while a large write waits for it", async () => {
  const calls: string[] = [];
  const patience: Patience = {
    hold: () => {
      calls.push("hold");
      return new Promise(() => undefined);
    },
    release: async () => void calls.push("release"),
  };
  const { pty, isOver } = await open("exec sleep 1000", patience);
  pty.write("p".repeat(5_000));
  pty.kill("SIGKILL");
  await until("its end", isOver);
  expect(calls).toEqual(["hold", "release"]);
});
