/** By what the processes of a thread are known, in /proc/<pid>/environ. */

/** In the runner's environment alone: the engine does not inherit it. Its value is the thread's id. */
export const RUNNER_MARKER = "THREADMUX_RUNNER";
/** In the runner's environment alone: the folder that knows what all threads spend a day. */
export const SPEND_FOLDER = "THREADMUX_SPEND";
/** In the runner's environment alone: the dollars that all threads may spend a day; the folder before counts them. */
export const SPEND_CAP = "THREADMUX_SPEND_CAP";
/** In the runner's environment alone: the folder that knows which call of which thread may write which file. */
export const LOCK_FOLDER = "THREADMUX_LOCKS";
/** In the runner's environment alone: the folder that knows which agents are at work. */
export const BOARD_FOLDER = "THREADMUX_BOARD";
/** In the runner's environment alone: what people call the thread. */
export const THREAD_TITLE = "THREADMUX_TITLE";
/** In the runner's environment alone: the folder that knows which threads have a turn, or wait for one, */
export const PLACES_FOLDER = "THREADMUX_PLACES";
/** and how many may have one at once. */
export const PLACES_MAX = "THREADMUX_PLACES_MAX";
/**
 * How many of those that wait for a place keep their runner. One further back ends; the sidecar starts the next
 * in time. Not set: all keep it.
 */
export const PLACES_READY = "THREADMUX_PLACES_READY";
/** In the runner's environment alone: the folder that remembers which directories people trust. */
export const TRUST_FOLDER = "THREADMUX_TRUST";
/** In the runner's environment alone: the sidecar's state folder, which no agent may look into. */
export const STATE_FOLDER = "THREADMUX_STATE";
/** In the runner's environment alone: how this machine keeps the engine's commands in; not set: they are not kept in. */
export const SANDBOX = "THREADMUX_SANDBOX";
/** In the runner's environment alone: `1` if agents may be let do everything without asking. */
export const BYPASS_ALLOWED = "THREADMUX_ALLOW_BYPASS";
/** In the environment of the engine and of all that it starts: the thread's id, */
export const ENGINE_MARKER = "THREADMUX_THREAD";
/** and its folder, because two state folders may have threads of the same id. */
export const ENGINE_FOLDER_MARKER = "THREADMUX_THREAD_FOLDER";
/** In the environment of a command of our own engine, and of all that it starts: which command of the thread it is. */
export const COMMAND_MARKER = "THREADMUX_COMMAND";

/** In the environment of the engine: `1` if the commands that it runs for its model are to reach no network. */
export const NO_NETWORK = "THREADMUX_NO_NETWORK";

/** Marks the processes of a command that decides at a gate; its value is the thread's folder. */
export const GATE_MARKER = "THREADMUX_GATE";
