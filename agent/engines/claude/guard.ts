/**
 * What claude keeps from itself in every mode, by rules in our settings: the state folder is denied, also behind links
 * and in commands that name it, and files whose names look like secrets are asked about. Pure.
 */
import { SECRET_FOLDERS, SECRET_NAMES, SECRET_WORDS } from "../../../shared/sandbox/secrets.ts";
import { WORK_FOLDERS } from "../../../shared/user-space.ts";

/** claude reads `[!x]` otherwise than git does, and letters without their case. */
const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789._-";

/** Patterns of every name but these: also of names to come. */
function allBut(names: readonly string[]): string[] {
  const without = (letters: readonly string[]) =>
    `[${[...LETTERS].filter((letter) => !letters.includes(letter)).join("")}]*`;
  const others = names.flatMap((name) => [
    ...[...name.slice(1)].map((letter, at) => `${name.slice(0, at + 1)}${without([letter])}`),
    `${name}?*`,
  ]);
  return [without(names.map((name) => name.charAt(0))), ...others];
}

/** Worktrees and user space are there to be worked in, and what people attach is there to be read. */
const DENIED = [
  ...allBut(["threads", ...Object.values(WORK_FOLDERS)]),
  ...allBut(["attachments"]).map((pattern) => `threads/*/${pattern}`),
];
/** @param stateDir undefined if nobody says where it is */
export function deniedRules(stateDir: string | undefined): string[] {
  if (stateDir === undefined) return [];
  const root = escaped(stateDir);
  return DENIED.flatMap((pattern) => [`Read(/${root}/${pattern})`, `Edit(/${root}/${pattern})`]);
}

/**
 * Makes the rules that deny reading and editing where a mount shows the state folder, or a part of it, under another
 * name.
 */
export function deniedPlaces(places: readonly { path: string; isFolder: boolean }[]): string[] {
  return places.flatMap(({ path, isFolder }) => {
    const pattern = `/${escaped(path)}${isFolder ? "/**" : ""}`;
    return [`Read(${pattern})`, `Edit(${pattern})`];
  });
}

function escaped(path: string): string {
  return path.replace(/[\\*?[\]()!#]/g, "\\$&");
}

/** What it can do by itself, read included: a thread that text from outside has got into asks about each. */
const EVERYTHING = [
  ...["Bash", "Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "WebFetch", "WebSearch"],
  ...["Task", "Skill", "KillShell", "TaskStop"],
];

export function askedRules(isMarked = false): string[] {
  const paths = [
    ...SECRET_NAMES.map((name) => `//**/${name}`),
    ...SECRET_FOLDERS.map((name) => `~/${name}/**`),
  ];
  return [
    ...paths.flatMap((path) => [`Read(${path})`, `Edit(${path})`]),
    ...SECRET_WORDS.map((word) => `Bash(*${word}*)`),
    ...(isMarked ? EVERYTHING : []),
  ];
}
