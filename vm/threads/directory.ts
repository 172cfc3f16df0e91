/** The directory rule: a thread runs below `REPOS_DIR` and nowhere else, whatever the spelling. */
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { directoryId } from "../../shared/directory-id.ts";
import { AppError } from "../../shared/errors.ts";
import { USER_SPACE } from "../../shared/user-space.ts";

export interface Directory {
  /** Absolute, every link resolved. */
  path: string;
  /** Relative to `REPOS_DIR`; `.` for itself, and `~` for user space. */
  dir: string;
}

/**
 * Resolves what a person wrote, relative to `REPOS_DIR` or absolute, and follows links before it decides.
 * @param reposDir must be a real path itself.
 * @param id which directory the caller sees there, if it says so ({@link directoryId})
 * @param userSpace what `~` stands for, whether it is there yet or not; undefined if it can't be named here
 * @throws AppError `invalid_directory`
 */
export async function resolveDirectory(
  reposDir: string,
  dir: string,
  id?: string,
  userSpace?: string,
): Promise<Directory> {
  const refuse = (why: string, cause?: unknown) =>
    new AppError("invalid_directory", `dir: ${JSON.stringify(dir)} ${why}.`, { cause });
  if (dir.includes("\0")) throw refuse("must not hold a NUL");
  if (dir === USER_SPACE && userSpace !== undefined) {
    if (id === undefined) return { path: userSpace, dir };
    throw new AppError("invalid_directory", "dirId: is for a directory that the caller sees; ~ is none.");
  }
  if (dir === USER_SPACE)
    throw refuse("is user space, where each thread has a directory of its own; name one below REPOS_DIR");
  if (dir.startsWith(`${USER_SPACE}/`))
    throw refuse("can't be named: user space is ~ alone, and a directory called ~ is ./~");
  let path: string;
  try {
    path = await realpath(resolve(reposDir, dir));
    if (!(await stat(path)).isDirectory()) throw refuse("is not a directory");
  } catch (cause) {
    if (cause instanceof AppError)
      throw isInside(reposDir, resolve(reposDir, dir))
        ? cause
        : refuse("is outside of the repositories' folder");
    throw refuse(
      isInside(reposDir, resolve(reposDir, dir))
        ? "does not exist in the repositories' folder"
        : "is outside of the repositories' folder",
      cause,
    );
  }
  if (!isInside(reposDir, path)) throw refuse("is outside of the repositories' folder");
  if (id !== undefined && (await directoryId(path)) !== id)
    throw refuse("is another directory on the sidecar's machine than on yours");
  return { path, dir: relative(reposDir, path) || "." };
}

/** Whether `path` is `parent` or below it; both absolute. */
export function isInside(parent: string, path: string): boolean {
  const way = relative(parent, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
