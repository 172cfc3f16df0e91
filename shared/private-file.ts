/** Files that hold a secret: nobody else may read them. */
import { chmodSync, readFileSync, statSync } from "node:fs";
import { errorText } from "./errors.ts";

/**
 * Takes from others what lets them read a file; the group too, if the file is ours.
 * @throws Error in words for a person if that is not ours to do.
 */
export function makePrivate(file: string): void {
  const { mode, uid } = statSync(file);
  const isOurs = uid === process.getuid?.();
  const tooOpen = mode & (isOurs ? 0o077 : 0o007);
  if (tooOpen === 0) return;
  try {
    chmodSync(file, mode & 0o700);
  } catch (cause) {
    const sentence = `${file} holds secrets and others may read it; run: chmod 600 ${file}`;
    throw new Error(`${sentence} (${errorText(cause)})`, { cause });
  }
}

/** @throws Error as {@link makePrivate} */
export function readPrivateFile(file: string): string {
  makePrivate(file);
  return readFileSync(file, "utf8");
}
