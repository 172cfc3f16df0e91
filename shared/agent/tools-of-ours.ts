/** The tools that the sidecar offers to agents, each with the engine's tool as which people are asked about it. */

/**
 * `nothing`: nobody is asked. A tool that runs commands is asked about as `Bash`, one that changes files as `Write`, one
 * that sends something to the web as `WebFetch`.
 */
type AskedAs = "nothing" | "Bash" | "Write" | "WebFetch";

const ASKED_AS = {
  message: "nothing",
  done: "nothing",
  read_inputs: "nothing",
  report: "nothing",
  send_file: "nothing",
  memory_search: "nothing",
  memory_get: "nothing",
  memory_write: "nothing",
  spawn_thread: "nothing",
  wait_thread: "nothing",
  thread_status: "nothing",
  list_threads: "nothing",
  read_transcript: "nothing",
  kill_thread: "nothing",
  job_add: "nothing",
  job_list: "nothing",
  job_remove: "nothing",
  browser_open: "WebFetch",
  browser_look: "nothing",
  browser_click: "WebFetch",
  browser_type: "WebFetch",
  browser_go: "WebFetch",
  browser_close: "nothing",
} as const satisfies Record<string, AskedAs>;

export type OurTool = keyof typeof ASKED_AS;

/** Lists those that run unasked, as engines' rules name them. @param server as engines know it */
export function unaskedTools(server: string): string[] {
  const names = Object.entries<AskedAs>(ASKED_AS).filter(([, as]) => as === "nothing");
  return names.map(([name]) => `mcp__${server}__${name}`);
}
