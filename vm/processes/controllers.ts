/**
 * The kernel's controllers for memory, processors and processes, by control groups of version 1 (a hierarchy for each)
 * or 2 (one for all). Files and units: `Documentation/admin-guide/cgroup-v1` and `cgroup-v2.rst` of Linux.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "../../shared/budget.ts";

/** How often the kernel has held a group to its limit, and what it takes. */
export interface Taken {
  /** Bytes, processes; of processors the seconds for which they were kept from it, over all of them. */
  used: number;
  hits: number;
}

export interface Controller {
  /** Sets the limit of the group at this path. @throws Error of the file system if the kernel refuses */
  limit(path: string, limit: number): void;
  /** The limit that was set; not a number, or a huge one, if none was. @throws Error of the file system */
  find(path: string): number;
  /** @throws Error of the file system if the group is gone */
  read(path: string): Taken;
}

/** The period that a share of the processors is counted in, as the kernel has it by default. */
const PERIOD_US = 100_000;
const quota = (cpus: number) => Math.round(cpus * PERIOD_US);

export const CONTROLLERS: Readonly<Record<1 | 2, Readonly<Record<Resource, Controller>>>> = {
  1: {
    memory: {
      limit: (path, bytes) => {
        write(path, "memory.limit_in_bytes", bytes);
        // Else what is over the limit is swapped. Without swap accounting there is no such file.
        if (existsSync(join(path, "memory.memsw.limit_in_bytes")))
          write(path, "memory.memsw.limit_in_bytes", bytes);
      },
      find: (path) => number(path, "memory.limit_in_bytes"),
      read: (path) => ({
        used: number(path, "memory.usage_in_bytes"),
        hits: field(path, "memory.oom_control", "oom_kill"),
      }),
    },
    cpu: {
      limit: (path, cpus) => {
        write(path, "cpu.cfs_period_us", PERIOD_US);
        write(path, "cpu.cfs_quota_us", quota(cpus));
      },
      find: (path) => number(path, "cpu.cfs_quota_us") / number(path, "cpu.cfs_period_us"),
      read: (path) => ({
        used: field(path, "cpu.stat", "throttled_time") / 1e9,
        hits: field(path, "cpu.stat", "nr_throttled"),
      }),
    },
    pids: pids(),
  },
  2: {
    memory: {
      limit: (path, bytes) => {
        write(path, "memory.max", bytes);
        if (existsSync(join(path, "memory.swap.max"))) write(path, "memory.swap.max", 0);
      },
      find: (path) => number(path, "memory.max"),
      read: (path) => ({
        used: number(path, "memory.current"),
        hits: field(path, "memory.events", "oom_kill"),
      }),
    },
    cpu: {
      limit: (path, cpus) => write(path, "cpu.max", `${quota(cpus)} ${PERIOD_US}`),
      find: (path) => {
        const [share, period] = readFileSync(join(path, "cpu.max"), "utf8").split(" ").map(Number);
        return (share ?? Number.NaN) / (period ?? Number.NaN);
      },
      read: (path) => ({
        used: field(path, "cpu.stat", "throttled_usec") / 1e6,
        hits: field(path, "cpu.stat", "nr_throttled"),
      }),
    },
    pids: pids(),
  },
};

/** The same in both. */
function pids(): Controller {
  return {
    limit: (path, limit) => write(path, "pids.max", limit),
    find: (path) => number(path, "pids.max"),
    read: (path) => ({ used: number(path, "pids.current"), hits: field(path, "pids.events", "max") }),
  };
}

function write(path: string, file: string, value: number | string): void {
  writeFileSync(join(path, file), String(value));
}

function number(path: string, file: string): number {
  return Number(readFileSync(join(path, file), "utf8"));
}

/** A file of lines `name value`. 0 if the kernel does not count that. */
function field(path: string, file: string, name: string): number {
  const line = readFileSync(join(path, file), "utf8")
    .split("\n")
    .find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
