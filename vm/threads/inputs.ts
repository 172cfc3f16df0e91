/** What is sent to threads. */
import { isOpen } from "../../shared/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindIn } from "../../shared/kinds.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import { threadEnded } from "./ending.ts";
import { InputLimit } from "./input-limit.ts";
import type { Input } from "./kinds/kind.ts";
import type { Kinds } from "./kinds/kinds.ts";
import type { Threads } from "./threads.ts";

export interface InputsOptions {
  threads: Threads;
  kinds: Kinds;
  queue: KeyedQueue;
  now: () => number;
}

export class Inputs {
  readonly #options: InputsOptions;
  readonly #limit: InputLimit;

  constructor(options: InputsOptions) {
    this.#options = options;
    this.#limit = new InputLimit(options.now);
  }

  /**
   * Gives a thread an input, in the way of its kind. An `inputId` that has gone in before does nothing, also after
   * the thread's end.
   * @throws AppError `not_found`, `thread_ended`, `rate_limited`, `too_large`, `invalid_request`, `unavailable`
   */
  async send(threadId: ThreadId, input: Input): Promise<{ isDuplicate: boolean; isHidden: boolean }> {
    const { threads, kinds, queue } = this.#options;
    threads.getStored(threadId);
    return queue.run(threadId, async () => {
      const thread = threads.getStored(threadId);
      const kind = kindIn(kinds, thread.type);
      const inputId = "inputId" in input ? input.inputId : undefined;
      if (inputId !== undefined && (await kind.hasTaken(thread, inputId)))
        return { isDuplicate: true, isHidden: false };
      if (!isOpen(thread.status)) throw threadEnded(threadId, kind.whyNoInput(thread.status));
      this.#limit.take(threadId, "text" in input ? Buffer.byteLength(input.text) : 1);
      return { isDuplicate: false, ...(await kind.takeInput(thread, input)) };
    });
  }
}
