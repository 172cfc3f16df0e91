/** What a sandbox around an agent's engine keeps out of sight, and which programs of the machine can make it. */
import * as z from "zod";

/**
 * `state`: the sidecar's state folder; `secrets`: also where people keep keys; `workspace`: also the home, other
 * repositories and everybody's temporary files, and nothing is writable but the thread's own.
 */
export const SANDBOX_MODES = ["off", "state", "secrets", "workspace"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/**
 * `unshare`: user namespaces, in which the engine has no capability; its process, its signals and what it leaves in the
 * background are as without a sandbox. `bwrap`: also a process namespace, without which root finds a way out; nothing in
 * it outlives the engine.
 */
export const SANDBOX_FORMS = ["unshare", "bwrap"] as const;
export type SandboxForm = (typeof SANDBOX_FORMS)[number];

/** The setting `AGENT_SANDBOX_NETWORK`. */
export const networkSetting = z
  .enum(["off", "on"], { error: "must be off or on" })
  .default("off")
  .describe(
    "With `AGENT_SANDBOX=workspace`: whether commands of threadmux's own agent (`own`) reach the network. Other engines' commands always do, since those engines need it to reach their models.",
  );

const sandboxSchema = z.object({
  mode: z.enum(["state", "secrets", "workspace"]),
  form: z.enum(SANDBOX_FORMS),
  /** For `workspace`: a real path. */
  reposDir: z.string().default(""),
  /** For `workspace`: paths that a person has named. */
  reads: z.array(z.string()).default([]),
  writes: z.array(z.string()).default([]),
  /** For `workspace`: `off` if the commands of our own engine are to reach no network. */
  network: z.enum(["on", "off"]).optional(),
});

/** A runner is told it: there is a sandbox, and this machine can make it so. */
export type Sandbox = z.infer<typeof sandboxSchema>;

/**
 * Root gets `bwrap` alone: without a process namespace the files of all processes are open to it. So does `workspace`:
 * only `bwrap` makes what lies below a mount read-only with it.
 */
export function formsFor(uid: number, mode: SandboxMode = "state"): readonly SandboxForm[] {
  return uid === 0 || mode === "workspace" ? ["bwrap"] : SANDBOX_FORMS;
}

export function sandboxText(sandbox: Sandbox): string {
  return JSON.stringify(sandbox);
}

/** @throws Error if it is no text of {@link sandboxText}: to go on would be to go on without */
export function parseSandbox(text: string | undefined): Sandbox | undefined {
  return text === undefined ? undefined : sandboxSchema.parse(JSON.parse(text));
}
