/** A disk of a few MiB that can be filled up: a file system in memory. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "./folders.ts";

/** Whether this process may mount file systems: root may, unless its container lacks that right. */
export const canMount = process.getuid?.() === 0 && tryMount();

function tryMount(): boolean {
  const { path, remove } = makeFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", path], { stdio: "ignore" });
    execFileSync("umount", [path]);
    return true;
  } catch {
    return false;
  } finally {
    remove();
  }
}

export interface SmallDisk {
  freeBytes: () => number;
  /** Takes room until so much is left. */
  fill: (leftBytes: number) => void;
  /** Gives all of it back. */
  empty: () => void;
  unmount: () => void;
}

/** Mounts a disk at `path`, which is made. */
export function mountDisk(path: string, megabytes: number): SmallDisk {
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", path]);
  const ballast = (n: number) => join(path, `ballast.${n}`);
  let count = 0;
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  return {
    freeBytes,
    fill: (leftBytes) => {
      const bytes = freeBytes() - leftBytes;
      if (bytes <= 0) return;
      try {
        writeFileSync(ballast(count++), Buffer.alloc(bytes));
      } catch (error) {
        // Others took some of it meanwhile: now it is full.
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    },
    empty: () => {
      while (count > 0) rmSync(ballast(--count), { force: true });
    },
    unmount: () => execFileSync("umount", ["--lazy", path]),
  };
}
