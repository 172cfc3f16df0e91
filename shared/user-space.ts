/** User space: where threads without a repository work. Each has a directory of its own there. */

/** The directory that a person names for such a thread. */
export const USER_SPACE = "~";

/** In the state folder: agents work in directories below these, one a thread, and nowhere else in it. */
export const WORK_FOLDERS = { worktrees: "worktrees", home: "home" } as const;
