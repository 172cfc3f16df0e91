/** Sends a signed example to a hook at its own door, as its sender would. */
import { randomUUID } from "node:crypto";
import { AppError } from "../../shared/errors.ts";
import type { HookTestReply } from "../../shared/jobs/api.ts";
import { bodyOf, readTextAtMost } from "../../shared/read-at-most.ts";
import type { Hook } from "../hooks/intake.ts";
import { signRequest } from "../hooks/proof.ts";

const TIMEOUT_MS = 10_000;
/** The door's own answers are short. Another program may listen there. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_ANSWER_CHARACTERS = 2_000;

export interface HookTestsOptions {
  findHook: (name: string) => Hook | undefined;
  now: () => number;
}

export class HookTests {
  readonly #options: HookTestsOptions;
  #url: string | undefined;

  constructor(options: HookTestsOptions) {
    this.#options = options;
  }

  /** Where the door listens. */
  setUrl(url: string | undefined): void {
    this.#url = url;
  }

  /**
   * @param text the body; undefined: a small example
   * @returns what the door answers; its run begins as any other
   * @throws AppError `not_found` if no hook has this name, `unsupported` if the door is shut
   */
  async send(name: string, text: string | undefined): Promise<HookTestReply> {
    const { findHook, now } = this.#options;
    const hook = findHook(name);
    if (!hook) throw new AppError("not_found", `There is no hook ${JSON.stringify(name)}.`);
    if (this.#url === undefined) throw new AppError("unsupported", "The hook's door is shut (HOOK_PORT).");
    const id = `test-${randomUUID()}`;
    const body = Buffer.from(text ?? JSON.stringify({ id, test: true, sender: "threadmux hook test" }));
    const nowSeconds = Math.floor(now() / 1_000);
    const headers = signRequest(hook.settings.proof, hook.secret, body, { id, nowSeconds });
    const reply = await fetch(`${this.#url}/hook/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const read = await readTextAtMost(bodyOf(reply), MAX_ANSWER_BYTES);
    const answer = read ?? `(more than ${MAX_ANSWER_BYTES / 1024} KiB, which no hook's door answers)`;
    return { status: reply.status, answer: answer.slice(0, MAX_ANSWER_CHARACTERS) };
  }
}
