/** What a sandbox around an agent's engine keeps out of sight, and which programs of the machine can make it. */

/** `state`: the sidecar's state folder; `secrets`: also where people keep keys. */
export const SANDBOX_MODES = ["off", "state", "secrets"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/**
 * `unshare`: user namespaces, in which the engine has no capability; its process, its signals and what it leaves in the
 * background are as without a sandbox. `bwrap`: also a process namespace, without which root finds a way out; nothing in
 * it outlives the engine.
 */
export const SANDBOX_FORMS = ["unshare", "bwrap"] as const;
export type SandboxForm = (typeof SANDBOX_FORMS)[number];

/** What a runner is told: there is a sandbox, and this machine can make it so. */
export interface Sandbox {
  mode: Exclude<SandboxMode, "off">;
  form: SandboxForm;
}

/** Root gets `bwrap` alone: without a process namespace the files of all processes are open to it. */
export function formsFor(uid: number): readonly SandboxForm[] {
  return uid === 0 ? ["bwrap"] : SANDBOX_FORMS;
}

export function sandboxText({ mode, form }: Sandbox): string {
  return `${mode}:${form}`;
}

/** @returns undefined if it is no text of {@link sandboxText} */
export function parseSandbox(text: string | undefined): Sandbox | undefined {
  const [mode, form] = (text ?? "").split(":");
  const knownForm = SANDBOX_FORMS.find((one) => one === form);
  return (mode === "state" || mode === "secrets") && knownForm ? { mode, form: knownForm } : undefined;
}
