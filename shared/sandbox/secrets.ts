/** Where people keep what a repository's commands have no need of. */
import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";

/** Folders of a home directory that hold secrets. */
export const SECRET_FOLDERS = [
  ".ssh",
  ".aws",
  ".azure",
  ".gnupg",
  ".kube",
  ".docker",
  ".oci",
  ".password-store",
  ".config/gcloud",
  ".config/gh",
  ".config/hub",
  ".config/op",
  ".config/rclone",
  ".local/share/keyrings",
];
const SECRET_FILES = [
  ".config/git/credentials",
  ".netrc",
  ".git-credentials",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".vault-token",
];

/** Names of files that hold secrets wherever they lie; `*` stands for any characters. */
export const SECRET_NAMES = [
  ".env",
  ".env.*",
  ".netrc",
  ".npmrc",
  ".pgpass",
  "*.pem",
  "*.key",
  "id_rsa*",
  "id_ed25519*",
  "id_ecdsa*",
];

/** In commands: what is in a command's words, not what it does. `.key` is in every program that has keys. */
export const SECRET_WORDS = [
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

/** Whether the name of a file says that it holds secrets. Pure. */
export function looksSecret(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return SECRET_NAMES.some((pattern) => {
    const [start = "", end] = pattern.split("*");
    return end === undefined ? name === start : name.startsWith(start) && name.endsWith(end);
  });
}

export interface SecretPlace {
  /** A real path. */
  path: string;
  isFolder: boolean;
}

/** Those of this home that are there. */
export function findSecretPlaces(home: string): SecretPlace[] {
  return [...SECRET_FOLDERS, ...SECRET_FILES].flatMap((name) => {
    try {
      const path = realpathSync(join(home, name));
      return [{ path, isFolder: statSync(path).isDirectory() }];
    } catch {
      return []; // not there, or closed to us and so to the engine
    }
  });
}
