/** What the machine says of an engine's program: whether it is there, which version it is, whether it is signed in. */
import { spawn } from "node:child_process";
import type { KnownProgram, SignIn } from "../../shared/agent/engines/declaration.ts";
import {
  findVersion,
  findVersionFault,
  type VersionFault,
} from "../../shared/agent/engines/program-version.ts";
import { findProgram } from "../../shared/find-program.ts";

const PROGRAM_MS = 15_000;
const MAX_PRINTED_BYTES = 64 * 1024;
/** How long what a program has started may keep its output open after its end. */
const LEFT_OPEN_MS = 500;

type Env = Readonly<Record<string, string>>;

export interface ProgramState {
  /** Undefined if it is not there. */
  file: string | undefined;
  /** The first line that it printed when it was asked for its version. */
  printed: string | undefined;
  version: string | undefined;
  fault: VersionFault | undefined;
}

/**
 * @param env the threads' programs' own
 * @param args come before those that ask for the version
 */
export async function lookAtProgram(
  { program, args }: { program: string; args: readonly string[] },
  known: Pick<KnownProgram, "version"> | undefined,
  env: Env,
): Promise<ProgramState> {
  const file = findProgram(program, env["PATH"] ?? "");
  const state = { file, printed: undefined, version: undefined, fault: undefined };
  if (file === undefined || known?.version === undefined) return state;
  const outcome = await ask(file, [...args, ...known.version.args], env);
  const fault = findVersionFault(program, known.version, outcome.error ?? outcome.printed);
  const printed = outcome.printed.trim().split("\n")[0];
  return { file, printed, version: findVersion(outcome.printed), fault };
}

/**
 * By the program's own word alone: what it prints of the account, and its files, are nobody's business here.
 * @returns undefined if nobody knows
 */
export async function findSignedIn(
  file: string | undefined,
  { status, keys }: SignIn,
  env: Env,
): Promise<boolean | undefined> {
  const hasKey = keys.some((key) => Boolean(env[key]));
  if (file === undefined) return hasKey; // an engine of ours has nothing but the variables
  if (status === undefined) return hasKey || undefined;
  const { code } = await ask(file, status, env);
  if (code === 0) return true;
  return code === 1 ? false : hasKey || undefined;
}

interface Outcome {
  printed: string;
  /** Undefined if it did not end by itself. */
  code?: number;
  error?: NodeJS.ErrnoException;
}

/** Runs it at the root, where no directory's own settings play a part. It and what it has started end with the deadline. */
function ask(file: string, args: readonly string[], env: Env): Promise<Outcome> {
  return new Promise<Outcome>((resolve) => {
    const child = spawn(file, args, { env, cwd: "/", detached: true, stdio: ["ignore", "pipe", "ignore"] });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let error: NodeJS.ErrnoException | undefined;
    const stop = (why: string) => {
      error ??= new Error(why);
      killGroup(child.pid);
      child.stdout.destroy();
    };
    const timer = setTimeout(() => stop(`it took more than ${PROGRAM_MS / 1_000} s`), PROGRAM_MS);
    let leftOpen: NodeJS.Timeout | undefined;
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_PRINTED_BYTES) stop(`it printed more than ${MAX_PRINTED_BYTES} bytes`);
    });
    child.once("error", (cause) => {
      error ??= cause;
    });
    child.once("exit", () => {
      leftOpen = setTimeout(() => child.stdout.destroy(), LEFT_OPEN_MS);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      clearTimeout(leftOpen);
      const printed = Buffer.concat(chunks).toString();
      if (code !== 0) error ??= new Error(code === null ? "it was killed" : `it ended with ${code}`);
      resolve({ printed, ...(code !== null && { code }), ...(error && { error }) });
    });
  }).catch((error: NodeJS.ErrnoException) => ({ printed: "", error })); // Node refuses some programs by throwing
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has just ended
  }
}
