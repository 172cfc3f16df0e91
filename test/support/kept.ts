/** The memory that a Node process has once its garbage is gone. */
import { readFileSync } from "node:fs";
import { WebSocket } from "ws";
import { signal } from "./processes.ts";
import { untilValue } from "./wait.ts";

/** For `NODE_OPTIONS` of a process that {@link measureKept} is asked about: its inspector listens once it is asked. */
export function inspectOption(port: number): string {
  return `--inspect-port=127.0.0.1:${port}`;
}

/** @returns what the machine holds for it now, garbage and all, in MiB */
export function rssMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}

/**
 * Collects a process's garbage.
 * @param port of its inspector
 * @returns what is left in its heap, and what the machine still holds for it, in MiB
 */
export async function measureKept(pid: number, port: number): Promise<{ heapMiB: number; rssMiB: number }> {
  signal(pid, "SIGUSR1");
  const list = () =>
    fetch(`http://127.0.0.1:${port}/json`).then(
      (reply) => reply.json() as Promise<{ webSocketDebuggerUrl: string }[]>,
      () => [],
    );
  const [target] = await untilValue("its inspector", list, (targets) => targets.length > 0);
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
  try {
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    let rss = Number.POSITIVE_INFINITY;
    // Pages are given back a little later than they are freed.
    const collect = async () => {
      const before = rss;
      await call(socket, "HeapProfiler.collectGarbage");
      rss = rssMiB(pid);
      return before - rss;
    };
    await untilValue("no more to be given back", collect, (freed) => freed < 0.5, { intervalMs: 500 });
    const usage = await call(socket, "Runtime.evaluate", { expression: "process.memoryUsage().heapUsed" });
    const { result } = usage as { result: { value: number } };
    return { heapMiB: result.value / 1_048_576, rssMiB: rss };
  } finally {
    socket.terminate();
  }
}

let calls = 0;

function call(socket: WebSocket, method: string, params: object = {}): Promise<unknown> {
  const id = ++calls;
  return new Promise((resolve, reject) => {
    const hear = (data: Buffer) => {
      const reply = JSON.parse(data.toString()) as { id?: number; result?: unknown };
      if (reply.id !== id) return;
      socket.off("message", hear);
      resolve(reply.result);
    };
    socket.on("message", hear).once("close", () => reject(new Error("the inspector has gone")));
    socket.send(JSON.stringify({ id, method, params }));
  });
}
