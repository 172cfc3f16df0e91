#!/usr/bin/env node
/**
 * A scripted stand-in for a coding agent: the `demo` engine, and the engine of the tests. It speaks the same protocol
 * on the same flags as Claude Code does (`-p --input-format stream-json …`), and keeps its conversations as that does.
 *
 * THREADMUX_DEMO_SCRIPT names a JSON file of rounds (script.ts) that are said first; THREADMUX_DEMO_CALLS_AGAIN=0
 * makes a model that does not repeat the calls that a restart asks for; THREADMUX_DEMO_WRITE_MS makes edits slow;
 * THREADMUX_DEMO_OPEN_MS (milliseconds, or several with commas between, one by chance) is the time after which it reads
 * a conversation that it resumes; THREADMUX_DEMO_REQUESTS names a file that is told each request to the model.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { createInterface } from "node:readline";
import * as z from "zod";
import { parseArgs } from "./args.ts";
import { Engine } from "./engine.ts";
import { Output, VERSION } from "./output.ts";
import { Round } from "./script.ts";
import { SessionFile } from "./session-file.ts";

const env = process.env;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function readScript(path: string): Round[] {
  const parsed = z.array(Round).safeParse(JSON.parse(readFileSync(path, "utf8")));
  if (!parsed.success) throw new Error(`THREADMUX_DEMO_SCRIPT (${path}): ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function run(): void {
  const args = parseArgs(process.argv.slice(2));
  const output = new Output(args.sessionId);
  const place = {
    home: env["HOME"] ?? homedir(),
    cwd: process.cwd(),
    sessionId: args.sessionId,
    isResumed: args.isResumed,
    forkOf: args.forkOf,
    version: VERSION,
  };
  const session = SessionFile.open(place);
  if (!session && !args.isResumed) throw new Error(`Error: Session ID ${args.sessionId} is already in use.`);
  if (!session) {
    const errors = [`No conversation found with session ID: ${args.sessionId}`];
    output.event({ type: "result", subtype: "error_during_execution", is_error: true, num_turns: 0, errors });
    throw new Error(errors[0]);
  }
  const script = env["THREADMUX_DEMO_SCRIPT"];
  const behaviour = {
    resumesTurn: env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] === "1",
    showsCutOffCalls: env["CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS"] === "1",
    resumePrompt: env["CLAUDE_CODE_RESUME_PROMPT"],
    opening: script === undefined ? undefined : readScript(script),
    callsAgain: env["THREADMUX_DEMO_CALLS_AGAIN"] !== "0",
    takeUpMs: Number(env["THREADMUX_DEMO_TAKE_UP_MS"] ?? 0),
    writeMs: Number(env["THREADMUX_DEMO_WRITE_MS"] ?? 0),
    requestLog: env["THREADMUX_DEMO_REQUESTS"],
  };
  const engine = new Engine(args, session, output, behaviour, (code) => {
    engine.close();
    process.exit(code);
  });
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.once(name, () => {
      engine.close();
      process.exit(143);
    });
  }
  engine.start();
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on("line", (line) => {
    if (line.trim() === "") return;
    try {
      engine.receive(line);
    } catch (error) {
      engine.close();
      fail(`Error parsing streaming input line (${line.length} chars): ${String(error)}`);
    }
  });
  lines.once("close", () => {
    engine.close();
    process.exit(0);
  });
}

function runOrFail(): void {
  try {
    run();
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

/** One of the list, by chance; 0 of a new conversation. */
function lateMs(): number {
  const list = process.argv.includes("--resume") ? (env["THREADMUX_DEMO_OPEN_MS"] ?? "0").split(",") : ["0"];
  return Number(list[Math.floor(Math.random() * list.length)]);
}

if (process.argv.includes("--version") || process.argv.includes("-v")) {
  process.stdout.write(`${VERSION} (threadmux demo)\n`);
} else {
  setTimeout(runOrFail, lateMs());
}
