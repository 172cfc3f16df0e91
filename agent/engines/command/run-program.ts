/** One run of a person's program: a message in, an answer out. */
import { spawn } from "node:child_process";
import { Printed } from "./printed.ts";

const MAX_ANSWER_BYTES = 128 * 1024;
const MAX_ERROR_BYTES = 4 * 1024;
/** Linux takes at most 128 KiB for one argument. */
const MAX_ARGUMENT_BYTES = 100 * 1024;
const PROMPT = "{prompt}";
const TERMINATE_MS = 2_000;
/** How long after its end the processes that it left may still hold its output. */
const LINGER_MS = 500;

export interface ProgramEnd {
  text: string;
  /** Why it did not end well; undefined if it did. */
  problem: string | undefined;
}

export interface ProgramRun {
  /** Ends the program with everything in its process group. */
  interrupt(): void;
  end: Promise<ProgramEnd>;
}

/**
 * Starts the program. `{prompt}` in its arguments becomes the message; without it, the message is its standard input.
 * Whatever is left of its process group when it ends is ended too.
 */
export function runProgram(program: string, args: readonly string[], message: string): ProgramRun {
  const isArgument = args.some((arg) => arg.includes(PROMPT));
  const text = message.replaceAll("\0", "");
  if (isArgument && Buffer.byteLength(text) > MAX_ARGUMENT_BYTES) {
    const problem = `the message is too long for an argument; without ${PROMPT} in AGENT_ARGS it goes to standard input`;
    return { interrupt: () => {}, end: Promise.resolve({ text: "", problem }) };
  }
  // A group of its own, so that one signal reaches all of it.
  const child = spawn(
    program,
    args.map((arg) => arg.replaceAll(PROMPT, () => text)),
    { detached: true, stdio: ["pipe", "pipe", "pipe"] },
  );
  const answer = new Printed(MAX_ANSWER_BYTES);
  const errors = new Printed(MAX_ERROR_BYTES);
  child.stdout.on("data", (chunk: Buffer) => answer.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  child.stdin.on("error", () => {}); // a program need not read what it is told
  child.stdin.end(isArgument ? "" : text);
  const signal = (name: NodeJS.Signals) => {
    if (child.pid !== undefined) signalGroup(child.pid, name);
  };
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<ProgramEnd>((resolve) => {
    const finish = (problem: string | undefined) => {
      clearTimeout(timer);
      resolve({ text: answer.text(), problem });
    };
    child.once("error", (error) => finish(`${program} can't be started: ${error.message}`));
    child.once("exit", (code, name) => {
      clearTimeout(timer);
      const problem = problemOf(program, code, name);
      const close = () =>
        finish(problem && [problem, errors.text()].filter((part) => part !== "").join("\n"));
      child.once("close", close);
      timer = setTimeout(() => {
        signal("SIGKILL");
        child.stdout.destroy();
        child.stderr.destroy();
      }, LINGER_MS);
    });
  });
  const interrupt = () => {
    signal("SIGTERM");
    timer ??= setTimeout(() => signal("SIGKILL"), TERMINATE_MS);
  };
  void end.then(() => signal("SIGKILL"));
  return { interrupt, end };
}

function problemOf(program: string, code: number | null, name: string | null): string | undefined {
  if (name !== null) return `${program} was ended by ${name}.`;
  return code === 0 ? undefined : `${program} ended with exit code ${code}.`;
}

function signalGroup(leader: number, name: NodeJS.Signals): void {
  try {
    process.kill(-leader, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // nothing is left of it
  }
}
