/** Completes the name of a source of logs while a person types. It costs little, whatever the machine holds. */
import { basename, join } from "node:path";
import { entriesOf, findFiles, isGlob, isWalked } from "../../shared/follow/glob.ts";
import { pause, Slots } from "../../shared/lifecycle.ts";
import { JOURNAL } from "./find-service.ts";
import type { Listed, Lists, MachineServices } from "./machine-services.ts";

const MAX_SERVICES = 25;
/** Discord shows what comes within 3 s, and people type on meanwhile. */
const MAX_MS = 80;
const BOUNDS = { maxEntries: 3_000, maxFiles: 200 };
/** Files that are offered to a person who has typed nothing yet. */
const USUAL = /^[^.].*\.(log|out|err)$/i;
const USUAL_DEPTH = 3;

/** All callers together: a folder that hangs keeps no more than these. */
const walks = new Slots(2);

/** @param path the directory, absolute. @returns as `findService` takes them, at most 25 */
export async function completeServices(
  machine: MachineServices,
  path: string,
  prefix: string,
): Promise<string[]> {
  const stop = new AbortController();
  const ended = pause(MAX_MS, stop.signal);
  const [, start = "", wanted = ""] = /^(file:)?(.*)$/s.exec(prefix) ?? [];
  const isFile = !/^(docker|unit):/.test(prefix) && !prefix.includes("\0");
  const files = new Set<string>();
  const none: Listed = { names: [] };
  let lists: Lists = { containers: none, units: none, userUnits: none };
  const look = async () => {
    if (isFile) await walks.run(() => collectFiles(path, wanted, files, stop.signal), stop.signal);
    // After the files: a program's start holds up all else for a while.
    if (!stop.signal.aborted) lists = await machine.known();
  };
  // A folder or a program that hangs is left out; the next key may find its answer.
  await Promise.race([look(), ended]);
  stop.abort();
  machine.refresh();
  const named = (list: Listed, kind: string) =>
    "names" in list ? list.names.map((name) => `${kind}:${name}`) : [];
  const machines = [
    ...named(lists.containers, "docker"),
    ...named(lists.units, "unit"),
    ...named(lists.userUnits, "unit"),
    ...("names" in lists.units && lists.units.names.length > 0 ? [JOURNAL] : []),
  ];
  const glob = isGlob(wanted) && files.size > 1 ? [wanted] : [];
  return [
    ...[...glob, ...[...files].sort()].map((file) => start + file),
    ...new Set(machines.filter((service) => isMeant(service, prefix))),
  ].slice(0, MAX_SERVICES);
}

/** `nginx` means `unit:nginx.service` too. */
function isMeant(service: string, prefix: string): boolean {
  const wanted = prefix.toLowerCase();
  return (
    service.toLowerCase().startsWith(wanted) || service.replace(/^\w+:/, "").toLowerCase().startsWith(wanted)
  );
}

/** Files whose path begins so; those that were found when `signal` fires count. */
async function collectFiles(
  path: string,
  wanted: string,
  files: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  if (wanted !== "")
    await findFiles(path, isGlob(wanted) ? wanted : `${wanted}*`, { ...BOUNDS, signal }, files);
  if (wanted.includes("/") || isGlob(wanted)) return;
  for await (const file of usualFiles(path, signal)) {
    if (file.startsWith(wanted)) files.add(file);
    if (files.size >= MAX_SERVICES) return;
  }
}

/** Where logs mostly lie, the nearest first. */
async function* usualFiles(root: string, signal: AbortSignal): AsyncGenerator<string> {
  let left = BOUNDS.maxEntries;
  let level = [""];
  for (let depth = 0; depth < USUAL_DEPTH; depth++) {
    const below: string[] = [];
    for (const folder of level) {
      const isLogs = /^logs?$/i.test(basename(folder));
      for await (const entry of entriesOf(join(root, folder))) {
        if (left-- <= 0 || signal.aborted) return;
        const name = join(folder, entry.name);
        if (entry.isDirectory()) {
          if (isWalked(entry.name)) below.push(name);
        } else if ((isLogs && !entry.name.startsWith(".")) || USUAL.test(entry.name)) yield name;
      }
    }
    level = below;
  }
}
