/**
 * The mode `workspace` of the sandbox: which places of the disk a thread's commands see. In sight are the system, the
 * person's tools and the thread's work tree; the home and the temporary folder are the thread's own.
 */
import { copyFileSync, existsSync, lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, relative, sep } from "node:path";
import { OWN_HOME, OWN_TMP } from "../../shared/agent/paths.ts";
import { findProgram } from "../../shared/find-program.ts";
import { findWorkPlace } from "../../shared/git/work-place.ts";
import type { SameFolder } from "../../shared/sandbox/box.ts";
import type { Sandbox } from "../../shared/sandbox/modes.ts";
import { clearPlace, isWithin, layMounts, type Mount, makePlace } from "../../shared/sandbox/mounts.ts";
import { findOtherNames } from "../../shared/sandbox/other-names.ts";
import { findSecretPlaces } from "../../shared/sandbox/secrets.ts";
import { WORK_FOLDERS } from "../../shared/user-space.ts";
import type { Env, Needs } from "../engine.ts";

/** Other people's homes, removable disks, and the sockets of services, which would do more than the sandbox lets. */
const OUT_OF_SIGHT = ["/home", "/root", "/mnt", "/media", "/run", "/var/run"];
const TEMPORARY = ["/tmp", "/var/tmp"];
/** Places of the home that hold programs, and the name that commits carry. */
const TOOLS = [
  ...[".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"],
  ...["bin", ".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv"],
  ...[".local/share/mise", ".local/share/pnpm", ".local/share/fnm", ".local/share/claude"],
  ...[".nvm", ".fnm", ".volta", ".asdf", ".pyenv", ".rbenv", ".sdkman", ".rustup", ".cargo/bin"],
  ...[".bun", ".deno", ".dotnet", ".npm-global", "go/bin", "miniconda3", "anaconda3"],
];

export interface KeptWorkspace {
  sandbox: Sandbox;
  /** A real path. */
  stateDir: string;
  /** The thread's, in the state folder. */
  folder: string;
  /** The program that is started. */
  program: string;
  env: Env;
  /** A real path. */
  dir: string;
  /** The parts of the state folder that are shown. */
  shown: readonly Mount[];
  needs: Needs | undefined;
}

/** Leaves out links that an agent may have made: agents write in repositories, and below the paths in `writes`. */
function namedPaths({ reposDir, writes }: Sandbox, paths: readonly string[]): string[] {
  const isAgents = (path: string) =>
    [reposDir, ...writes].some((top) => top !== "" && top !== path && isWithin(top, path));
  return paths.filter((path) => !isAgents(path) || realOf(path) === path);
}

/** Lays out what the thread's commands see, and makes the thread's own home and temporary folder on the disk. */
export function keepWorkspace(kept: KeptWorkspace): {
  mounts: Mount[];
  folders: SameFolder[];
  env: Env;
} {
  const { sandbox, env, folder, dir, stateDir, needs } = kept;
  const home = realOf(env["HOME"] ?? "/");
  const base = findBase(kept, home);
  const work = findWorkPlace(dir, topOf(dir, kept));
  const git = work.git.filter(({ path }) => !isWithin(path, stateDir) && !isWithin(work.root, path));
  const written: Mount[] = [
    { path: work.root, kind: "write", isFolder: true },
    ...git.map(
      ({ path, isWritable }): Mount => ({ path, kind: isWritable ? "write" : "read", isFolder: true }),
    ),
  ];
  const keptFiles = work.kept.filter((path) => written.some((one) => isWithin(one.path, path)));
  const folders = written.map(({ path }) => sameFolder(path));
  const shown = [
    ...kept.shown,
    ...written,
    ...findTools(kept, home, base),
    ...[...(needs?.writes ?? []), ...namedPaths(sandbox, sandbox.writes)].flatMap((path) =>
      placeAt(path, "write"),
    ),
    ...[...(needs?.reads ?? []), ...namedPaths(sandbox, sandbox.reads)].flatMap((path) =>
      placeAt(path, "read"),
    ),
  ];
  const secrets = [...findSecretPlaces(home), ...findOtherNames(stateDir)];
  const mounts = layMounts(base, shown, secrets, keptFiles);
  const own = base.find(({ path, kind }) => kind === "own" && path === home);
  if (own && needs) renew(own, needs);
  mkdirSync(join(folder, OWN_TMP), { recursive: true, mode: 0o700 });
  return { mounts, folders, env: { ...env, HOME: home, TMPDIR: "/tmp" } };
}

function findBase({ env, sandbox, stateDir, folder }: KeptWorkspace, home: string): Mount[] {
  const others = [...OUT_OF_SIGHT, env["TMPDIR"] ?? "/tmp", sandbox.reposDir, stateDir];
  const empty = others.flatMap((path) => placeAt(path, "empty"));
  const own = [...TEMPORARY.map((path) => [path, OWN_TMP]), [home, OWN_HOME]].flatMap(
    ([path = "", name = ""]) =>
      placeAt(path, "own").map((place) => ({ ...place, source: join(folder, name) })),
  );
  const found = new Map([...empty, ...own].map((mount) => [mount.path, mount]));
  found.delete(sep);
  return [...found.values()].filter(({ isFolder }) => isFolder);
}

/** The highest folder that may be the thread's work tree. One above it would be the work tree of all repositories. */
function topOf(dir: string, { stateDir, sandbox: { reposDir } }: KeptWorkspace): string {
  const folders = Object.values(WORK_FOLDERS).map((name) => join(stateDir, name));
  const above = [...folders, reposDir].find((one) => one !== "" && dir !== one && isWithin(one, dir));
  return above === undefined ? dir : join(above, relative(above, dir).split(sep)[0] ?? "");
}

function findTools(kept: KeptWorkspace, home: string, base: Mount[]): Mount[] {
  const { program, env, sandbox, stateDir, needs } = kept;
  const path = env["PATH"] ?? "";
  const isOpen = (one: string) => !base.some((mount) => isWithin(one, mount.path));
  const isAgents = (one: string) =>
    [sandbox.reposDir, stateDir].some((top) => top !== "" && isWithin(top, one));
  const onPath = path.split(delimiter).filter((one) => isAbsolute(one) && !isAgents(realOf(one)));
  const started = [program, ...(needs?.programs ?? [])].map((name) => findProgram(name, path));
  const programs = [...started, process.execPath, process.argv[1]].flatMap((one) =>
    one === undefined ? [] : programFolder(realOf(one), isOpen),
  );
  const ours = [env["SSH_AUTH_SOCK"] ?? "", realOf("/etc/resolv.conf")];
  const named = [...TOOLS.map((name) => join(home, name)), ...onPath, ...programs, ...ours];
  return named.filter((one) => isAbsolute(one) && isOpen(one)).flatMap((one) => placeAt(one, "read"));
}

/** The folder that a program is installed in: the whole of `node_modules`, else the folder of its file. */
function programFolder(file: string, isOpen: (path: string) => boolean): string[] {
  const [packages] = /^.*?\/node_modules(?=\/)/.exec(file) ?? [];
  const folder = packages ?? dirname(file);
  return isOpen(folder) ? [folder] : [file];
}

/** A mount at `path` shows what `path` leads to. An empty or own mount stands at the place that `path` leads to. */
function placeAt(path: string, kind: Mount["kind"]): Mount[] {
  try {
    const source = realpathSync(path);
    const isFolder = statSync(source).isDirectory();
    const isCover = kind === "empty" || kind === "own";
    return [
      { path: isCover ? source : path, kind, isFolder, ...(source !== path && !isCover && { source }) },
    ];
  } catch {
    return []; // not there, or closed to us and so to the agent
  }
}

/** Copies the person's files into the thread's home anew, and removes what an agent has put in their place. */
function renew(own: Mount, { reads, copies }: Needs): void {
  for (const path of [...reads, ...copies]) {
    if (!isWithin(own.path, path) || (existsSync(path) && !copies.includes(path))) continue;
    clearPlace(own, path);
    if (existsSync(path)) copyFileSync(path, makePlace(own, path, false));
  }
}

function sameFolder(path: string): SameFolder {
  const { dev, ino } = lstatSync(path, { bigint: true });
  return { path, id: `${dev}:${ino}` };
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not there
  }
}
