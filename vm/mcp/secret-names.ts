/** Names of files that usually hold secrets. Pure. */

const SECRET_FOLDERS = new Set([".ssh", ".gnupg", ".aws", ".kube", ".docker", ".git"]);
const SECRET_FILES = [
  /^\.env(\..*)?$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)/,
  /credential|secret|password|passwd|^token/,
  /^\.(netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd|bash_history|zsh_history)$/,
];
/** Templates that are meant to be shown. */
const HARMLESS = /^\.env\.(example|sample|template)$/;

/** @param path relative to the workspace, or absolute */
export function looksSecret(path: string): boolean {
  const parts = path.toLowerCase().split("/");
  const name = parts.at(-1) ?? "";
  if (parts.slice(0, -1).some((part) => SECRET_FOLDERS.has(part))) return true;
  return !HARMLESS.test(name) && SECRET_FILES.some((pattern) => pattern.test(name));
}
