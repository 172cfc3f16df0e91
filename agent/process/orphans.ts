/** The processes of a thread's engine, or of its gates, found by the marker that all of them inherit. */
import { readdirSync } from "node:fs";
import { ENGINE_FOLDER_MARKER } from "../../shared/agent/markers.ts";
import { pause } from "../../shared/lifecycle.ts";
import { readProcFile } from "../../shared/proc-file.ts";
import { hasVariable } from "../../shared/process-marker.ts";

const END_TIMEOUT_MS = 10_000;

/** All that live and carry the folder's marker, but this process. @param name of the marker */
export function listMarked(folder: string, name = ENGINE_FOLDER_MARKER): number[] {
  const marker = `${name}=${folder}`;
  return readdirSync("/proc").flatMap((entry) => {
    const pid = /^\d+$/.test(entry) ? Number(entry) : 0;
    if (pid === 0 || pid === process.pid) return [];
    return hasVariable(pid, marker) && !isZombie(pid) ? [pid] : [];
  });
}

/**
 * Kills the processes with the marker, by default the engine's, and waits until they are gone.
 * @throws Error naming those that stay.
 */
export async function killMarked(folder: string, name = ENGINE_FOLDER_MARKER): Promise<number> {
  const deadline = Date.now() + END_TIMEOUT_MS;
  const killed = new Set<number>();
  for (let left = listMarked(folder, name); left.length > 0; left = listMarked(folder, name)) {
    if (Date.now() > deadline) throw new Error(`processes ${left.join(", ")} with ${name} do not end`);
    for (const pid of left) {
      signal(pid, "SIGKILL");
      killed.add(pid);
    }
    await pause(10);
  }
  return killed.size;
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function isZombie(pid: number): boolean {
  const stat = readProcFile(pid, "stat")?.toString("latin1") ?? "";
  return /^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}
