/**
 * The command line that runs a program in a sandbox. What is hidden has something empty mounted over it, in namespaces of
 * the program's own; nothing changes for others. Pure but for {@link prepareBox}.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { writeWhole } from "../whole-file.ts";
import type { SandboxForm } from "./modes.ts";
import { bwrapArgsOf, type Mount, makePlaces } from "./mounts.ts";
import type { SecretPlace } from "./secrets.ts";

export interface Box {
  form: SandboxForm;
  uid: number;
  gid: number;
  /** A real path; nothing of it is seen but what is named here. */
  stateDir: string;
  /** In the state folder, for this box alone: what is seen in place of the state folder. */
  room: string;
  /** The parts of the state folder that may be read. */
  shown: readonly { path: string; isFolder: boolean; isWritable?: boolean }[];
  /** Elsewhere. */
  hidden: readonly SecretPlace[];
  /** A real path: the program begins there, or not at all if it has become another one. */
  dir: string;
  /** For the mode `workspace`, in place of `stateDir`, `shown` and `hidden`. `bwrap` alone can make it. */
  only?: { mounts: readonly Mount[]; folders: readonly SameFolder[] };
}

/** A folder that must be the one that was looked at: another agent may have swapped it for a link since. */
export interface SameFolder {
  path: string;
  /** Its device and its number on it. */
  id: string;
}

/** Said by the program's exit code if it was not started. */
export const BOX_FAILED = 97;

const ENTER = `cd -P -- "$1" && [ "$PWD" = "$1" ] || { echo "$1 leads elsewhere now" >&2; exit ${BOX_FAILED}; }; shift`;
/** In the inner namespace no capability is left, and what the outer one has mounted can't be taken away. */
const UNSHARE = `mount -n -a -T "$1" || exit ${BOX_FAILED}; shift; u=$1 g=$2; shift 2; ${ENTER}; exec unshare -U "--map-user=$u" "--map-group=$g" -- "$@"`;
/** As process 1 it ends the namespace with the program, and takes up what that leaves behind. */
const BWRAP = `${ENTER}; "$@"; exit $?`;

/** The capabilities that root keeps: without the others it can neither mount nor look into other processes. */
const ROOT_KEEPS = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "SETGID",
  "SETUID",
  "SETPCAP",
  "NET_BIND_SERVICE",
  "NET_RAW",
  "SYS_CHROOT",
  "AUDIT_WRITE",
  "SETFCAP",
];

/** {@link prepareBox} must have been called. */
export function boxCommand(
  box: Box,
  program: string,
  args: readonly string[],
): { program: string; args: string[] } {
  const inner = [box.dir, program, ...args];
  if (box.form === "bwrap") {
    const script = `${sameFolders(box.only?.folders ?? [])}${BWRAP}`;
    return { program: "bwrap", args: [...bwrapArgs(box), "--", "/bin/sh", "-c", script, "sh", ...inner] };
  }
  const outer = ["-Urm", "--propagation", "private", "--", "/bin/sh", "-c", UNSHARE, "sh"];
  return { program: "unshare", args: [...outer, tableOf(box.room), `${box.uid}`, `${box.gid}`, ...inner] };
}

/** Makes the room, with an empty place for all that is shown in it. It may have been made before. */
export function prepareBox({ form, stateDir, room, shown, hidden, only }: Box): void {
  for (const path of [room, emptyFolder(room)]) makeFolder(path);
  makeFile(emptyFile(room));
  if (only) makePlaces(only.mounts);
  if (form === "bwrap") return; // it makes the places in memory
  const mounts = shown.map(({ path, isFolder, isWritable }) => {
    const place = join(room, relative(stateDir, path));
    if (isFolder) makeFolder(place);
    else makeFile(place);
    return line(path, place, isWritable ? "bind" : "bind,ro");
  });
  const covers = hidden.map(({ path, isFolder }) =>
    line(isFolder ? emptyFolder(room) : emptyFile(room), path, "bind,ro"),
  );
  // The state folder last: after it the sources of the others can't be named any more.
  writeWhole(tableOf(room), [...mounts, ...covers, line(room, stateDir, "rbind,ro"), ""].join("\n"));
}

function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

function makeFile(path: string): void {
  makeFolder(dirname(path));
  closeSync(openSync(path, "a", 0o600));
}

function bwrapArgs({ uid, stateDir, room, shown, hidden, only }: Box): string[] {
  const files = only
    ? bwrapArgsOf(only.mounts, emptyFile(room))
    : [
        ...hidden.flatMap(({ path, isFolder }) =>
          isFolder ? ["--tmpfs", path, "--remount-ro", path] : ["--ro-bind", emptyFile(room), path],
        ),
        ...["--tmpfs", stateDir],
        ...shown.flatMap(({ path, isWritable }) => [isWritable ? "--bind" : "--ro-bind", path, path]),
        ...["--remount-ro", stateDir],
      ];
  return [
    ...[only ? "--ro-bind" : "--bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc"],
    ...["--ro-bind", "/proc/sys", "/proc/sys", "--ro-bind", "/sys", "/sys"],
    ...["--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"],
    ...files,
    "--as-pid-1",
    ...(uid === 0
      ? ["--cap-drop", "ALL", ...ROOT_KEEPS.flatMap((name) => ["--cap-add", `CAP_${name}`])]
      : []),
  ];
}

function sameFolders(folders: readonly SameFolder[]): string {
  if (folders.length === 0) return "";
  const paths = folders.map(({ path }) => quote(path)).join(" ");
  const ids = quote(folders.map(({ id }) => id).join("\n"));
  const say = 'echo "a folder of this thread leads elsewhere now" >&2';
  return `[ "$(stat -c %d:%i -- ${paths})" = ${ids} ] || { ${say}; exit ${BOX_FAILED}; }; `;
}

/** For a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function tableOf(room: string): string {
  return `${room}.table`;
}

function emptyFolder(room: string): string {
  return `${room}.empty`;
}

/** Not /dev/null: what is mounted has no devices. */
function emptyFile(room: string): string {
  return `${room}.none`;
}

/** As fstab(5) has it. */
function line(source: string, target: string, options: string): string {
  return `${escapeName(source)} ${escapeName(target)} none ${options},nosuid,nodev 0 0`;
}

function escapeName(path: string): string {
  return path.replace(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}
