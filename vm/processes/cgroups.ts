/**
 * A control group (cgroup v2) for each thread, where this process may make any: whatever a program does, its
 * children stay in it. Where none can be made (no cgroup v2, a read-only mount, another user's group), the tree is
 * known by its session, its marker and its parents alone.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class Cgroups {
  readonly #path: string;

  /**
   * Undefined where no groups can be made.
   * @param stateDir each sidecar has groups of its own.
   */
  static open(stateDir: string): Cgroups | undefined {
    const own = findOwnGroup();
    if (own === undefined) return undefined;
    const name = createHash("sha256").update(stateDir).digest("hex").slice(0, 12);
    const path = join(own, `threadmux-${name}`);
    try {
      mkdirSync(path, { recursive: true });
    } catch {
      return undefined;
    }
    return new Cgroups(path);
  }

  private constructor(path: string) {
    this.#path = path;
  }

  /** The group of what carries this marker (`NAME=uuid`), made or not. */
  pathOf(marker: string): string {
    return join(this.#path, marker.slice(marker.indexOf("=") + 1));
  }

  /** @returns its path; undefined where it can't be made now: the thread does without. */
  make(marker: string): string | undefined {
    const path = this.pathOf(marker);
    try {
      mkdirSync(path, { recursive: true });
      return path;
    } catch {
      return undefined;
    }
  }

  remove(marker: string): void {
    removeGroup(this.pathOf(marker));
  }

  /** Removes what is empty; the threads that go on keep theirs. */
  close(): void {
    removeGroup(this.#path);
  }
}

/** The processes in a group and the groups below; none where there is no such group. */
export function listGroup(path: string): number[] {
  const own = read(join(path, "cgroup.procs"))?.split("\n").filter(Boolean).map(Number) ?? [];
  return [...own, ...listGroups(path).flatMap(listGroup)];
}

/** Whether any process lives in it or below: unlike a list of them, right also while they fork and exit. */
export function isPopulated(path: string): boolean {
  return /^populated 1$/m.test(read(join(path, "cgroup.events")) ?? "");
}

/** SIGKILL to all of them at once, before any can start another, where the kernel can (5.14). */
export function killGroup(path: string): void {
  try {
    writeFileSync(join(path, "cgroup.kill"), "1");
  } catch {
    // It can't, or the group is gone: the caller looks at what is left, one by one.
  }
}

/** With the groups below; one that still has processes stays. */
export function removeGroup(path: string): void {
  for (const group of listGroups(path)) removeGroup(group);
  try {
    rmdirSync(path);
  } catch {
    // It is in use, or gone already.
  }
}

function listGroups(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(path, entry.name));
  } catch {
    return []; // gone meanwhile
  }
}

/** This process's group in the file system. */
function findOwnGroup(): string | undefined {
  const group = /^0::(.*)$/m.exec(read("/proc/self/cgroup") ?? "")?.[1];
  // Fields: id, parent, device, root of the mount, mount point, options …, "-", type.
  const mount = read("/proc/self/mountinfo")
    ?.split("\n")
    .map((line) => line.split(" "))
    .find((fields) => fields[fields.indexOf("-") + 1] === "cgroup2");
  const [root, point] = [mount?.[3], mount?.[4]];
  if (group === undefined || root === undefined || point === undefined) return undefined;
  const isBelow = root === "/" || group === root || group.startsWith(`${root}/`);
  return isBelow ? join(point, root === "/" ? group : group.slice(root.length)) : undefined;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
