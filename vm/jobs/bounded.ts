/** Commands of runs: each begins once, whatever is killed, and a check's in a sandbox. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Box, boxCommand, prepareBox } from "../../shared/sandbox/box.ts";
import type { Sandbox } from "../../shared/sandbox/modes.ts";
import { findOtherNames } from "../../shared/sandbox/other-names.ts";
import { findSecretPlaces } from "../../shared/sandbox/secrets.ts";
import { killMarked } from "../processes/kill-marked.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { Store } from "../store/store.ts";
import { type Program, runCommand, runMarker, shellOf } from "./command.ts";
import type { Outcome } from "./outcome.ts";

/** In the state folder. */
const ROOMS = "check-boxes";

export const WAS_CUT_OFF = {
  status: "unknown" as const,
  reason: "The sidecar ended while its command ran; it is not run again by itself.",
};

export interface BoundedCommandsOptions {
  store: Store;
  /** A real path. */
  stateDir: string;
  threadEnv: Record<string, string>;
  /** Undefined if there is none, or none is wanted. */
  sandbox: Sandbox | undefined;
  now: () => number;
}

export interface CommandBounds {
  path: string;
  /** Undefined: as long as it takes. */
  seconds: number | undefined;
  signal: AbortSignal;
  /** It sees neither the state folder nor, if agents don't, where people keep keys. */
  isBoxed?: boolean;
}

export class BoundedCommands {
  readonly #options: BoundedCommandsOptions;

  constructor(options: BoundedCommandsOptions) {
    this.#options = options;
  }

  /** Runs a command of a run; its `reason` says what it failed of. Not a second time if it may have begun before. */
  async run(
    command: string,
    run: JobRunRow,
    { isBoxed = false, ...bounds }: CommandBounds,
  ): Promise<Outcome | { output: string; reason: string | undefined }> {
    const { store, stateDir, threadEnv: env, now } = this.#options;
    const marker = runMarker(stateDir, run.run);
    const room = join(stateDir, ROOMS, run.run);
    try {
      if (run.begunAt !== null) {
        await killMarked(marker);
        return WAS_CUT_OFF;
      }
      const shell = shellOf(command, env);
      const program = isBoxed ? this.#boxed(shell, room, bounds.path) : shell;
      store.jobRuns.update(run.run, { begunAt: now() });
      const { exitCode, isOutOfTime, output } = await runCommand(program, { ...bounds, env, marker });
      if (exitCode === 0) return { output, reason: undefined };
      const reason = isOutOfTime
        ? `limit: it took more than ${bounds.seconds} s`
        : `exit code ${exitCode ?? "unknown"}`;
      return { output, reason };
    } finally {
      if (isBoxed) rmSync(room, { recursive: true, force: true });
    }
  }

  #boxed(shell: Program, room: string, dir: string): Program {
    const { sandbox, stateDir, threadEnv } = this.#options;
    if (!sandbox) return shell;
    mkdirSync(room, { recursive: true, mode: 0o700 });
    const box: Box = {
      form: sandbox.form,
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
      ...{ stateDir, room: join(room, "box"), shown: [], dir },
      hidden: [
        ...findOtherNames(stateDir),
        ...(sandbox.mode === "state" ? [] : findSecretPlaces(threadEnv["HOME"] ?? "/")),
      ],
    };
    prepareBox(box);
    return boxCommand(box, shell.program, shell.args);
  }
}
