/** Gives the relay the messages that it is to say, and takes its word on what became of them. */
import type * as z from "zod";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { workedOnIn } from "../../shared/agent/fold-voice.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { job } from "../../shared/principal.ts";
import type { SpokenNote, spokenReplySchema } from "../../shared/voice-api.ts";
import type { Store } from "../store/store.ts";
import type { Inputs } from "../threads/inputs.ts";

export interface SpokenOptions {
  store: Store;
  inputs: Pick<Inputs, "send">;
  foldNow: (threadId: ThreadId) => Promise<ThreadFold>;
  log: Log;
}

export class Spoken {
  readonly #options: SpokenOptions;

  constructor(options: SpokenOptions) {
    this.#options = options;
  }

  async list(): Promise<z.output<typeof spokenReplySchema>> {
    const { store, foldNow } = this.#options;
    const { spoken, threads } = store;
    // Before the rest is looked up: what happens meanwhile is told by another state.
    const state = spoken.revision;
    const isAlive = (id: ThreadId) => {
      const thread = threads.find(id);
      return thread?.isMade && isOpen(thread.status);
    };
    const folds = await Promise.all(spoken.listMains().filter(isAlive).map(foldNow));
    const working = [...new Set(folds.flatMap(workedOnIn))];
    return { state, working, messages: spoken.listOpen() };
  }

  /** @returns false if there is no such message */
  async note(id: number, note: SpokenNote): Promise<boolean> {
    const { store, inputs, log } = this.#options;
    const row = store.spoken.find(id);
    if (!row) return false;
    // Before the row says so: told again after a kill, the same input goes in once.
    if (note.state === "refused" && row.address !== null) {
      const text = `Your message m${id} to ${row.address} was not sent: ${note.reason}`;
      const input = { text, enter: true, paste: "auto", plain: true, inputId: `refused-m${id}` } as const;
      await inputs.send(row.threadId, { ...input, by: job("discord") }).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error; // it is over, or paused: nobody waits for the message
        log.warn(
          { threadId: row.threadId, err: error },
          "could not tell an agent that a message was refused",
        );
      });
    }
    store.spoken.note(id, note);
    return true;
  }
}
