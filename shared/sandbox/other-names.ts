/** The other names of a folder: a bind mount shows it, what holds it, or a part of it, in a second place. */
import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { isWithin } from "./mounts.ts";
import type { SecretPlace } from "./secrets.ts";

interface MountPoint {
  device: string;
  /** The path on the device that is mounted. */
  inner: string;
  /** Where it is seen. */
  path: string;
}

/**
 * Other places in which the same files are seen, all of them or a part. None where the system does not tell its mounts.
 * @param path a real path
 */
export function findOtherNames(path: string): SecretPlace[] {
  return namesIn(readMounts(), path).flatMap(({ name, of }) => {
    const [seen, own] = [find(name), find(of)];
    if (!seen || !own || seen.dev !== own.dev || seen.ino !== own.ino) return [];
    return [{ path: name, isFolder: seen.isDirectory() }];
  });
}

/**
 * Pure.
 * @param text as /proc/self/mountinfo has it
 * @returns each name, and of what it is one: `path`, or something in it; another mount may lie over it
 */
export function namesIn(text: string, path: string): { name: string; of: string }[] {
  const mounts = text.split("\n").flatMap(parseLine);
  const within = mounts.map((mount) => mount.path).filter((one) => isWithin(path, one));
  const names = [path, ...within]
    .flatMap((one) => namesOf(mounts, one))
    .filter(({ name }) => !isWithin(path, name) && !isWithin(name, path));
  return names.filter(({ name }, at) => names.findIndex((one) => one.name === name) === at);
}

function namesOf(mounts: readonly MountPoint[], path: string): { name: string; of: string }[] {
  // The last one that is mounted on a place is on top there.
  const own = mounts.reduce<MountPoint | undefined>(
    (best, mount) =>
      isWithin(mount.path, path) && mount.path.length >= (best?.path.length ?? 0) ? mount : best,
    undefined,
  );
  if (own === undefined) return [];
  const inner = join(own.inner, relative(own.path, path));
  return mounts.flatMap((mount) => {
    if (mount.device !== own.device) return [];
    if (isWithin(mount.inner, inner))
      return [{ name: join(mount.path, relative(mount.inner, inner)), of: path }];
    if (!isWithin(inner, mount.inner)) return [];
    return [{ name: mount.path, of: join(path, relative(inner, mount.inner)) }];
  });
}

function parseLine(line: string): MountPoint[] {
  const [, , device = "", inner = "", path = ""] = line.split(" ");
  return path.startsWith("/") ? [{ device, inner: unescaped(inner), path: unescaped(path) }] : [];
}

function unescaped(name: string): string {
  return name.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

function readMounts(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return ""; // no Linux, or no /proc
  }
}

function find(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined; // out of reach for us, and so for the engine
  }
}
