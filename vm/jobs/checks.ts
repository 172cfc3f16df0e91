/** A job's check: a person's command that says, before any model is called, whether there is something to do. */
import { randomBytes } from "node:crypto";
import { access, constants } from "node:fs/promises";
import { resolve } from "node:path";
import type { EngineName } from "../../shared/agent/engines/engines.ts";
import { AppError } from "../../shared/errors.ts";
import type { JobSettings } from "../../shared/jobs/job.ts";
import { kindOf } from "../../shared/kinds.ts";
import { chooseMark, OUTSIDE_NOTE, type Part, renderInline } from "../../shared/outside-text.ts";
import { refuseUnmarkable } from "../agents/outside.ts";
import type { Brought } from "../hooks/brought.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { Store } from "../store/store.ts";
import type { BoundedCommands } from "./bounded.ts";
import type { threadOf } from "./names.ts";
import type { Outcome } from "./outcome.ts";
import { targetThread } from "./target-thread.ts";

/** A check that takes longer has failed. */
const CHECK_SECONDS = 30;

export interface ChecksOptions {
  store: Store;
  commands: Pick<BoundedCommands, "run">;
  /** The engine of agents whose job names none. */
  engine: EngineName;
  engineOf: (threadId: ReturnType<typeof threadOf>) => string | undefined;
}

export class Checks {
  readonly #options: ChecksOptions;

  constructor(options: ChecksOptions) {
    this.#options = options;
  }

  /**
   * @param path where the job works
   * @throws AppError if it could not be run, or what it prints could not go in
   */
  async refuse(settings: JobSettings, check: string, path: string): Promise<void> {
    this.#refuseTarget(settings);
    const [program = ""] = check.trim().split(/\s+/);
    if (!program.includes("/") || !/^[\w./-]+$/.test(program)) return;
    try {
      await access(resolve(path, program), constants.X_OK);
    } catch (cause) {
      throw new AppError(
        "invalid_request",
        `check: ${program} is not there, or can't be executed (chmod +x).`,
        { cause },
      );
    }
  }

  /** @returns what it printed, as the run's body; or how the run is over without a start */
  async run(
    { name }: JobSettings,
    check: string,
    run: JobRunRow,
    place: { path: string; signal: AbortSignal },
  ): Promise<Outcome | { body: string; begunAt: null }> {
    const { store, commands } = this.#options;
    const ended = await commands.run(check, run, { ...place, seconds: CHECK_SECONDS, isBoxed: true });
    if ("status" in ended) return ended;
    const { output, reason } = ended;
    if (reason !== undefined) return { status: "failed", reason: `check: ${reason}`, output };
    if (output.trim() === "") return { status: "skipped", reason: "check: nothing to do" };
    const brought: Brought = { text: checkText(output), marks: `the check of the job ${name}` };
    const noted = { body: JSON.stringify(brought), begunAt: null };
    store.jobRuns.update(run.run, { ...noted, output });
    return noted;
  }

  /** A check's output is text from outside: the target must be one that can be held to ask about everything. */
  #refuseTarget({ what }: JobSettings): void {
    const { store, engine, engineOf } = this.#options;
    if ("prompt" in what) {
      refuseUnmarkable(what.agent?.engine ?? engine, "check");
      return;
    }
    const threadId = targetThread(store, what);
    if (threadId === undefined && what.type === "input") {
      refuseUnmarkable(engine, "check"); // the agent that hears channels is not made yet
      return;
    }
    const thread = threadId === undefined ? undefined : store.threads.find(threadId);
    if (threadId === undefined || (thread && !kindOf(thread).hasTurns))
      throw new AppError(
        "invalid_request",
        "check: is for an agent, or an input into an agent's thread; a command can look itself.",
      );
    const known = engineOf(threadId);
    if (known !== undefined) refuseUnmarkable(known as EngineName, "check");
  }
}

/** The text in which an agent gets a check's output. */
function checkText(output: string): string {
  const parts: Part[] = [
    { kind: "own", text: `The job's check printed this. ${OUTSIDE_NOTE}` },
    { kind: "outside", text: output.trimEnd() },
  ];
  const mark = chooseMark(parts, (bytes) => randomBytes(bytes).toString("hex"));
  const { text, isCut } = renderInline(parts, mark);
  return isCut ? `${text}\n(The rest of it is left out.)` : text;
}
