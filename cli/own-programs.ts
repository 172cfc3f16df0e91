/** Programs of ours beside the command line in a build. They and we meet over arguments, output and exit codes. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { AppError } from "../shared/errors.ts";

export interface OwnProgram {
  /** Below the build's folder. */
  file: string;
  args?: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
  /** Whose rights it has; not set: ours. Only root may. */
  as?: { uid: number; gid: number } | undefined;
  /** Without one it may take as long as it needs. */
  timeoutMs?: number;
}

export interface OwnResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** @throws AppError `unavailable` if it can't be started, or takes too long */
export async function runOwn({ file, args = [], env, cwd, as, timeoutMs }: OwnProgram): Promise<OwnResult> {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], {
    ...{ env, cwd, stdio: ["ignore", "pipe", "pipe"] },
    ...(as && { uid: as.uid, gid: as.gid }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs, killSignal: "SIGKILL" }),
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  try {
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    if (child.signalCode === null) return { code, stdout, stderr };
    throw new Error(`ended by ${child.signalCode}`);
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new AppError("unavailable", `${file} could not do its work: ${words}`, { cause });
  }
}
