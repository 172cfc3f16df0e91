/** Finds what a person calls a source of logs, and says in a sentence why it can't be followed. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError } from "../../shared/errors.ts";
import { findFiles, isGlob } from "../../shared/follow/glob.ts";
import { type FollowSource, MAX_FOLLOWED_FILES, WALK_ENTRIES } from "../../shared/follow/spec.ts";
import { type FileProblem, openText } from "../../shared/follow/text-file.ts";
import type { Listed, Lists, MachineServices } from "./machine-services.ts";

export interface FoundService {
  /** The name with its prefix. */
  service: string;
  source: FollowSource;
}

/** The whole journal. */
export const JOURNAL = "journal";
const PREFIXES = ["file:", "docker:", "unit:"] as const;
type Prefix = (typeof PREFIXES)[number];

interface Wanted {
  path: string;
  lines: number;
}

/**
 * @param path the directory from which files are named, absolute.
 * @throws AppError `not_found`, `unsupported`, `invalid_request`
 */
export async function findService(
  machine: MachineServices,
  service: string,
  { path, lines }: Wanted,
): Promise<FoundService> {
  const prefix = PREFIXES.find((start) => service.startsWith(start));
  const name = service.slice(prefix?.length ?? 0);
  if (name === "") throw new AppError("invalid_request", `service: nothing stands behind ${prefix}.`);
  if (prefix === "file:" || (prefix === undefined && (await isOfFiles(path, name)))) {
    await checkFiles(path, name);
    return { service: `file:${name}`, source: { kind: "files", pattern: name } };
  }
  const known = await machine.look();
  const found = findOnMachine(known, { prefix, name });
  if (!found) throw new AppError("not_found", noService(known, { prefix, name }));
  const argv = argvOf(machine, found, lines);
  return { service: found.service, source: { kind: "program", argv } };
}

/** Whether no container and no unit could be meant. */
async function isOfFiles(path: string, name: string): Promise<boolean> {
  if (name.includes("/") || isGlob(name)) return true;
  return stat(resolve(path, name)).then(
    () => true,
    () => false,
  );
}

type OnMachine =
  | { service: string; kind: "container"; name: string }
  | { service: string; kind: "unit"; name: string; isUser: boolean }
  | { service: string; kind: "journal" };

function findOnMachine(
  { containers, units, userUnits }: Lists,
  { prefix, name }: { prefix: Prefix | undefined; name: string },
): OnMachine | undefined {
  const has = (list: Lists[keyof Lists], wanted: string) => "names" in list && list.names.includes(wanted);
  if (prefix !== "unit:" && has(containers, name))
    return { service: `docker:${name}`, kind: "container", name };
  if (prefix === "docker:") return undefined;
  for (const unit of [name, `${name}.service`]) {
    for (const [list, isUser] of [
      [units, false],
      [userUnits, true],
    ] as const)
      if (has(list, unit)) return { service: `unit:${unit}`, kind: "unit", name: unit, isUser };
  }
  if (prefix === undefined && name === JOURNAL && "names" in units)
    return { service: JOURNAL, kind: "journal" };
  return undefined;
}

/** An argument vector: no shell reads it, and each name was found in a list of such names. */
function argvOf(machine: MachineServices, found: OnMachine, lines: number): string[] {
  if (found.kind === "container")
    return [machine.find("docker") ?? "docker", "logs", "--follow", `--tail=${lines}`, found.name];
  const journal = [
    machine.find("journalctl") ?? "journalctl",
    ...["--no-pager", "--quiet", "--output=short-iso", "--follow", `--lines=${lines}`],
  ];
  if (found.kind === "journal") return journal;
  return [...journal, `${found.isUser ? "--user-unit" : "--unit"}=${found.name}`];
}

/** Says where the service was looked for. */
function noService(
  { containers, units }: Lists,
  { prefix, name }: { prefix: Prefix | undefined; name: string },
): string {
  const quoted = JSON.stringify(name);
  const places = [
    ...(prefix === undefined ? ["it is no file here"] : []),
    ...(prefix === "unit:"
      ? []
      : ["problem" in containers ? containers.problem : `docker has no such container`]),
    ...(prefix === "docker:" ? [] : [noUnit(units)]),
  ];
  return `service: there is no ${quoted}: ${places.join("; ")}.`;
}

function noUnit(units: Listed): string {
  if ("problem" in units) return units.problem;
  return units.isPart
    ? "the journal has no such unit that the sidecar's user may read; members of the group systemd-journal read all"
    : "the journal has no such unit";
}

async function checkFiles(path: string, pattern: string): Promise<void> {
  const refuse = (why: string) => new AppError("unsupported", `service: ${JSON.stringify(pattern)} ${why}.`);
  const single = await problemOf(resolve(path, pattern));
  if (single === undefined) return;
  if (!isGlob(pattern) || single !== "missing") {
    if (single === "missing")
      throw new AppError(
        "not_found",
        `service: there is no file ${JSON.stringify(pattern)} in this directory.`,
      );
    throw refuse(describe(single));
  }
  const { files, isCut } = await findFiles(path, pattern, {
    maxEntries: WALK_ENTRIES,
    maxFiles: MAX_FOLLOWED_FILES + 1,
  });
  if (files.length > MAX_FOLLOWED_FILES)
    throw refuse(`fits more than ${MAX_FOLLOWED_FILES} files; name fewer`);
  const problems = await Promise.all(files.map((file) => problemOf(resolve(path, file))));
  if (problems.includes(undefined)) return;
  const [first] = problems;
  if (first !== undefined)
    throw refuse(`fits no file of text: ${JSON.stringify(files[0])} ${describe(first)}`);
  throw new AppError(
    "not_found",
    `service: no file fits ${JSON.stringify(pattern)} in this directory${isCut ? `, of the first ${WALK_ENTRIES} names` : ""}.`,
  );
}

async function problemOf(path: string): Promise<FileProblem | undefined> {
  const opened = await openText(path);
  if ("problem" in opened) return opened.problem;
  await opened.file.close();
  return undefined;
}

function describe(problem: FileProblem): string {
  switch (problem) {
    case "missing":
      return "is not there any more";
    case "denied":
      return "can't be read by the sidecar's user";
    case "binary":
      return "is a file that is not text";
    default:
      return `is a ${problem}, not a file of text`;
  }
}
