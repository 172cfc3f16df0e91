/**
 * A control group (cgroup v2) for each thread, where this process may make any: whatever a program does, its
 * children stay in it. Where none can be made (no cgroup v2, a read-only mount, another user's group), the tree is
 * known by its session, its marker and its parents alone.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * The name that a service of systemd gives the group of its own processes (`DelegateSubgroup`). The threads' groups stand beside
 * it: a group that has processes can't hand its controllers down.
 */
export const SERVICE_SUBGROUP = "sidecar";

export class Cgroups {
  /** The group that holds the threads' groups. */
  readonly path: string;

  /**
   * Undefined where no groups can be made.
   * @param stateDir each sidecar has groups of its own.
   */
  static open(stateDir: string): Cgroups | undefined {
    const found = findGroup();
    if (found === undefined) return undefined;
    const isService = basename(found) === SERVICE_SUBGROUP && dirname(found).endsWith(".service");
    const own = isService ? dirname(found) : found;
    const path = join(own, groupName(stateDir));
    try {
      mkdirSync(path, { recursive: true });
    } catch {
      return undefined;
    }
    return new Cgroups(path);
  }

  private constructor(path: string) {
    this.path = path;
  }

  /** The group of what carries this marker (`NAME=uuid`), made or not. */
  pathOf(marker: string): string {
    return join(this.path, idOf(marker));
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
    removeGroup(this.path);
  }
}

/** The name of the group that holds the threads' groups of one sidecar. */
export function groupName(stateDir: string): string {
  return `threadmux-${createHash("sha256").update(stateDir).digest("hex").slice(0, 12)}`;
}

/** The name of a thread's group. @param marker `NAME=uuid` */
export function idOf(marker: string): string {
  return marker.slice(marker.indexOf("=") + 1);
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

/**
 * This process's group in the file system: of version 2, or in the hierarchy that a controller of version 1 has.
 * @returns undefined if there is no such hierarchy, or none of it can be seen
 */
export function findGroup(controller?: string): string | undefined {
  const groups = read("/proc/self/cgroup") ?? "";
  // Fields: id, controllers, path. Version 2 has neither number nor controllers.
  const group = groups
    .split("\n")
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
    .find((fields) =>
      controller === undefined ? fields?.[1] === "" : names(fields?.[1]).includes(controller),
    )?.[2];
  // Fields: id, parent, device, root of the mount, mount point, options …, "-", type, source, options of the hierarchy.
  const mount = read("/proc/self/mountinfo")
    ?.split("\n")
    .map((line) => line.split(" "))
    .find((fields) => isHierarchy(fields.slice(fields.indexOf("-") + 1), controller));
  const [root, point] = [mount?.[3], mount?.[4]];
  if (group === undefined || root === undefined || point === undefined) return undefined;
  const isBelow = root === "/" || group === root || group.startsWith(`${root}/`);
  return isBelow ? join(point, root === "/" ? group : group.slice(root.length)) : undefined;
}

function isHierarchy([type, , options]: readonly string[], controller: string | undefined): boolean {
  return controller === undefined
    ? type === "cgroup2"
    : type === "cgroup" && names(options).includes(controller);
}

function names(list: string | undefined): string[] {
  return list?.split(",") ?? [];
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
