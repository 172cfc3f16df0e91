/**
 * What a loss of power would leave of a program's files: what it wrote after it last waited for the disk is garbage.
 * `strace` notes the writes and the waits.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "./folders.ts";
import { until } from "./wait.ts";

/** Whether this process may watch the calls of another one. */
export const canTrace = tryTrace();

function tryTrace(): boolean {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    const args = ["1", "strace", "-o", "/dev/null", "-p", `${child.pid}`];
    // It is ended while it watches: then it could.
    return spawnSync("timeout", args, { stdio: "ignore" }).status === 124;
  } finally {
    child.kill("SIGKILL");
  }
}

interface Write {
  offset: number;
  bytes: number;
}

export class PowerMeter {
  readonly #folder = makeFolder();
  readonly #log = join(this.#folder.path, "calls");
  #strace: ChildProcess | undefined;

  /** Begins to note what the process writes. */
  async attach(pid: number): Promise<void> {
    rmSync(this.#log, { force: true });
    const calls = "trace=pwrite64,fsync,fdatasync";
    const args = ["-f", "-y", "-s", "0", "-e", calls, "-o", this.#log, "-p", `${pid}`];
    const strace = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
    this.#strace = strace;
    let said = "";
    strace.stderr?.on("data", (bytes: Buffer) => {
      said += bytes.toString();
    });
    await until("strace to watch", () => said.includes("attached"));
  }

  /** Call it once the process is dead. @returns the bytes of the file that are garbage now */
  async cut(file: string): Promise<number> {
    const strace = this.#strace;
    if (strace?.exitCode === null) await once(strace, "exit");
    const lost = unsynced(readFileSync(this.#log, "utf8"), file);
    if (lost.length === 0 || !existsSync(file)) return 0;
    const descriptor = openSync(file, "r+");
    for (const { offset, bytes } of lost) writeSync(descriptor, randomBytes(bytes), 0, bytes, offset);
    closeSync(descriptor);
    return lost.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  remove(): void {
    this.#strace?.kill("SIGKILL");
    this.#folder.remove();
  }
}

/** Finds the writes to a file that no wait for the disk has followed. */
function unsynced(log: string, file: string): Write[] {
  let open: Write[] = [];
  /** By thread: how many writes came before its wait for the disk, which goes on. */
  const waits = new Map<string, number>();
  for (const line of log.split("\n")) {
    const [, thread = "", call = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const isWait = /^f(?:data)?sync\(/.test(call) && call.includes(`<${file}>`);
    const [, bytes, offset] = /^pwrite64\(\d+<[^>]*>, .*, (\d+), (\d+)(?:\)| <unfinished)/.exec(call) ?? [];
    if (bytes !== undefined && call.includes(`<${file}>`))
      open.push({ bytes: Number(bytes), offset: Number(offset) });
    else if (isWait && call.includes("<unfinished")) waits.set(thread, open.length);
    else if (isWait && / = 0$/.test(call)) open = [];
    else if (/^<\.\.\. f(?:data)?sync resumed>.* = 0$/.test(call) && waits.has(thread)) {
      open = open.slice(waits.get(thread));
      waits.delete(thread);
    }
  }
  return open;
}
