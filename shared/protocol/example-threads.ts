/** The threads that the examples are about. */

/** A terminal. */
export const DEMO = { id: "demo" };
/** An agent that the first example makes. */
export const HELPER = { id: "helper" };
/** An agent in a git worktree, which has changed a file, and which ends before its worktree is removed. */
export const FIXER = { id: "fixer" };
/** An agent that may run `npm --version` without asking. */
export const TESTER = { id: "tester" };
/** A room, which the first example of rooms makes of the agents ann and ben. */
export const ROOM = { id: "review" };
