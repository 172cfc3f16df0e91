/** The names inside a thread's folder: the runner, the sidecar and their tests build paths here alone. */
import { join } from "node:path";

export const THREAD_FILES = {
  config: "thread.json",
  status: "status.json",
  inbox: "inbox.jsonl",
  transcript: "transcript.jsonl",
  markdown: "transcript.md",
  state: "state.json",
  live: "live.json",
  origin: "origin.jsonl",
  approvals: "approvals",
  attachments: "attachments",
  blobs: "blobs",
  pictures: "pictures",
  reviews: "reviews",
  mcp: "mcp.json",
} as const;

/** In the sandbox of the mode `workspace`: what the agent sees as its home, and in place of /tmp. */
export const OWN_HOME = "home";
export const OWN_TMP = "tmp";

/** The path of a file that each thread's folder may hold. */
export function threadPath(folder: string, name: keyof typeof THREAD_FILES): string {
  return join(folder, THREAD_FILES[name]);
}

/** A generation is one process of the engine; each has files of its own, so none reads another's bytes. */
export function engineOutputPath(folder: string, generation: number): string {
  return join(folder, `engine.${generation}.jsonl`);
}

export function engineErrorPath(folder: string, generation: number): string {
  return join(folder, `engine.${generation}.err`);
}

/** What it was sent: one line each. */
export function engineSentPath(folder: string, generation: number): string {
  return join(folder, `engine.${generation}.sent`);
}

export function engineInputPath(folder: string, generation: number): string {
  return join(folder, `stdin.${generation}`);
}

export function blobPath(folder: string, sha256: string): string {
  return join(folder, THREAD_FILES.blobs, sha256);
}
