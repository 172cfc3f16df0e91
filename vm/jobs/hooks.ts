/** Jobs that the hook's door starts: which of them may be made, and how the door finds them. */
import type { EngineName } from "../../shared/agent/engines/engines.ts";
import { AppError } from "../../shared/errors.ts";
import { findSecretProblem } from "../../shared/hooks/settings.ts";
import type { JobSettings, What } from "../../shared/jobs/job.ts";
import { kindOf } from "../../shared/kinds.ts";
import { refuseUnmarkable } from "../agents/outside.ts";
import type { Hook } from "../hooks/intake.ts";
import type { HookSecrets } from "../hooks/secrets.ts";
import type { Store } from "../store/store.ts";
import { hasExpired } from "./decide.ts";
import { targetThread } from "./target-thread.ts";

export interface HooksOptions {
  store: Store;
  secrets: HookSecrets;
  /** The hook's door listens. */
  isOpen: boolean;
  /** The engine of agents whose job names none. */
  engine: EngineName;
  /** There is an engine that can read. */
  hasReader: boolean;
  now: () => number;
}

export class Hooks {
  readonly #options: HooksOptions;

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** @throws AppError that names the field and says what would fit */
  check({ when, what, check }: JobSettings, secret: string): void {
    if (when.type !== "webhook") return;
    const { store, isOpen, engine, hasReader } = this.#options;
    if (!isOpen) throw refused("when.type: the hook's door is shut; start the sidecar with HOOK_PORT.");
    if (check !== undefined) throw refused("check: is for jobs of the clock; a hook has when.filter.");
    const problem = findSecretProblem(when.proof.preset, secret);
    if (problem !== undefined) throw new AppError("invalid_request", `when.secret: ${problem}.`);
    const target = targetThread(store, what);
    const thread = target && store.threads.find(target);
    if (thread && !kindOf(thread).hasTurns)
      throw refused("what.threadId: a request would type into a shell; name an agent's thread.");
    if (when.raw && !("prompt" in what))
      throw refused(
        "when.raw: text from outside goes into an agent of the job's own alone; what.type must be agent.",
      );
    if (when.raw && "prompt" in what) refuseUnmarkable(what.agent?.engine ?? engine, "when.raw");
    const isRead = !when.raw && when.trust === undefined && takesText(what);
    if (isRead && !hasReader)
      throw refused(
        "when.reader: Claude Code is needed to read text from outside, and is not installed; give raw, or trust.",
      );
  }

  keep(name: string, secret: string): void {
    this.#options.store.hookRequests.remove(name);
    this.#options.secrets.set(name, secret);
  }

  forget(name: string): void {
    this.#options.secrets.remove(name);
    this.#options.store.hookRequests.remove(name);
  }

  /** For the door. */
  find(name: string): Hook | undefined {
    const { store, secrets, now } = this.#options;
    const row = store.jobs.find(name);
    const when = row?.settings.when;
    if (!row || when?.type !== "webhook" || row.state === "over") return undefined;
    if (hasExpired(row.settings, now())) return undefined;
    const secret = secrets.find(name);
    return secret === undefined
      ? undefined
      : { name, settings: when, secret, isPaused: row.state === "paused" };
  }
}

/** An agent is told of the request; a command is only run. */
export function takesText(what: What): boolean {
  return "prompt" in what || "text" in what;
}

function refused(sentence: string): AppError {
  return new AppError("unsupported", sentence);
}
