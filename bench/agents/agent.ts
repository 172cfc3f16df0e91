/**
 * The agent that the bench runs, in both ways: the stand-in, or the real one, whose program THREADMUX_CLAUDE names, with
 * a loopback model.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { engineOutputPath } from "../../shared/agent/paths.ts";
import { startModel } from "../../test/agents/model.ts";
import { claudeEnvironment, claudeProgram } from "../../test/agents/real.ts";
import { STAND_IN, script } from "../../test/support/agents.ts";
import { until } from "../../test/support/wait.ts";

export interface BenchAgent {
  name: string;
  isReal: boolean;
  program: string;
  env: Record<string, string>;
  /** A number that grows each time it asks its model. The stand-in has none: it says when it would. */
  countRequests: (threadFolder: string) => number;
  /** One message the naive way. @returns milliseconds until it asks its model */
  runOnce: (home: string, sessionId: string, text: string, isFirst: boolean) => Promise<number>;
  close: () => Promise<void>;
}

export const answer = (text: string): string => script(text, { text: "ok" });

export async function startAgent(): Promise<BenchAgent> {
  return process.env["THREADMUX_CLAUDE"] ? startClaude() : standIn();
}

const ASKS = '"subtype":"init"';

function standIn(): BenchAgent {
  return {
    name: "stand-in",
    isReal: false,
    program: STAND_IN,
    env: {},
    // Only the last processes' output is kept: what grows is the newest process that has asked, and how often.
    countRequests: (folder) => {
      const generations = readdirSync(folder).map((name) =>
        Number(/^engine\.(\d+)\.jsonl$/.exec(name)?.[1] ?? 0),
      );
      const counts = generations.filter(Boolean).map((generation) => {
        const count = readFileSync(engineOutputPath(folder, generation), "utf8").split(ASKS).length - 1;
        return count === 0 ? 0 : generation * 1_000_000 + count;
      });
      return Math.max(0, ...counts);
    },
    runOnce: async (home, sessionId, text, isFirst) => {
      const streams = ["--input-format", "stream-json", "--output-format", "stream-json"];
      const args = ["-p", ...streams, "--verbose", isFirst ? "--session-id" : "--resume", sessionId];
      const startedAt = performance.now();
      const child = spawn(STAND_IN, args, { env: environment(home), cwd: home });
      const message = { role: "user", content: answer(text) };
      child.stdin.end(`${JSON.stringify({ type: "user", message, uuid: randomUUID() })}\n`);
      await untilPrinted(child, ASKS);
      const taken = performance.now() - startedAt;
      await untilEnded(child);
      return taken;
    },
    close: async () => undefined,
  };
}

async function startClaude(): Promise<BenchAgent> {
  const program = claudeProgram();
  const model = await startModel();
  const env = claudeEnvironment(model);
  // A request without tools is one beside the conversation.
  const countRequests = () => model.requests.filter(({ tools }) => tools?.length).length;
  return {
    name: "claude",
    isReal: true,
    program,
    env,
    countRequests,
    runOnce: async (home, sessionId, text, isFirst) => {
      const args = ["-p", isFirst ? "--session-id" : "--resume", sessionId, answer(text)];
      const before = countRequests();
      const startedAt = performance.now();
      const child = spawn(program, args, { env: { ...environment(home), ...env }, cwd: home });
      child.stdin.end();
      child.stdout.resume();
      await until("the model to be asked", () => countRequests() > before, { intervalMs: 1 });
      const taken = performance.now() - startedAt;
      await untilEnded(child);
      return taken;
    },
    close: () => model.close(),
  };
}

/** A home of its own for the naive way, so that nothing of the other way's is in it. */
export function naiveHome(folder: string): string {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  return home;
}

function environment(home: string): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8", HOME: home };
}

async function untilEnded(child: ChildProcess): Promise<void> {
  if (child.exitCode === null) await new Promise((resolve) => child.once("exit", resolve));
}

function untilPrinted({ stdout, stderr }: ChildProcess, part: string): Promise<void> {
  let text = "";
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes(part)) resolve();
    };
    stdout?.on("data", take);
    stderr?.on("data", take);
    stdout?.once("end", () => reject(new Error(`the program ended: ${text}`)));
  });
}
