/**
 * What claude keeps from itself in every mode, by rules in our settings: the state folder is denied, also behind links
 * and in commands that name it, and files whose names look like secrets are asked about. Pure.
 */
import { SECRET_FOLDERS, SECRET_NAMES } from "../../../shared/sandbox/secrets.ts";

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

/** Worktrees are there to be worked in, and what people attach is there to be read. */
const DENIED = [
  ...allBut(["threads", "worktrees"]),
  ...allBut(["attachments"]).map((pattern) => `threads/*/${pattern}`),
];
/** In commands: what is in a command's words, not what it does. `.key` is in every program that has keys. */
const SECRET_WORDS = [
  ".env",
  ".netrc",
  ".npmrc",
  ".pgpass",
  ".pem",
  ".ssh",
  ".aws",
  ".gnupg",
  ".kube/",
  ".docker/",
  ".config/gh",
  "id_rsa",
  "id_ed25519",
  "id_ecdsa",
];

/** @param stateDir undefined if nobody says where it is */
export function deniedRules(stateDir: string | undefined): string[] {
  if (stateDir === undefined) return [];
  const root = stateDir.replace(/[\\*?[\]()!#]/g, "\\$&");
  return DENIED.flatMap((pattern) => [`Read(/${root}/${pattern})`, `Edit(/${root}/${pattern})`]);
}

export function askedRules(): string[] {
  const paths = [
    ...SECRET_NAMES.map((name) => `//**/${name}`),
    ...SECRET_FOLDERS.map((name) => `~/${name}/**`),
  ];
  return [
    ...paths.flatMap((path) => [`Read(${path})`, `Edit(${path})`]),
    ...SECRET_WORDS.map((word) => `Bash(*${word}*)`),
  ];
}
