/** Says in the channels what agents want said there: each message once, in its order, whatever is killed meanwhile. */
import { snowflakeSchema } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { retry } from "../../shared/retry.ts";
import { MAX_LISTED_SPOKEN, type Spoken } from "../../shared/voice-api.ts";
import type { VoiceClient } from "../../shared/voice-client.ts";
import { inline } from "../content/transcript/inline.ts";
import { splitMarkdown } from "../content/transcript/split.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Channels } from "./channels.ts";
import type { Typist } from "./typist.ts";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

export interface SpeakerOptions {
  vm: Pick<Vm, "voice">;
  channels: Pick<Channels, "find">;
  typist: Pick<Typist, "show">;
  log: Log;
  signal: AbortSignal;
}

export class Speaker {
  readonly #options: SpeakerOptions;
  /** The messages of one channel are sent one after the other. */
  readonly #queue = new KeyedQueue();
  /** Being said. */
  readonly #open = new Set<number>();
  #state = "";
  #isLooking = false;

  constructor(options: SpeakerOptions) {
    this.#options = options;
  }

  /** The sidecar's word for what it was asked for last. */
  get state(): string {
    return this.#state;
  }

  /** Something is to be said. In the background; what comes meanwhile is told by another state. */
  poke(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#look()
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, "could not ask what agents want said"),
      )
      .finally(() => {
        this.#isLooking = false;
      });
  }

  async #look(): Promise<void> {
    const { messages, state, working } = await this.#voice.listSpoken();
    this.#options.typist.show(working, () => this.poke());
    // The state does not change when a message is said, so messages that were not listed are asked for as soon as there
    // is room.
    const isMore = messages.length >= MAX_LISTED_SPOKEN;
    for (const message of messages.filter(({ id }) => !this.#open.has(id))) {
      this.#open.add(message.id);
      this.#queue
        .run(message.channelId, () => this.#sayUntilItWorks(message))
        .catch((error: unknown) =>
          this.#options.log.error(
            { spokenId: message.id, err: error },
            "could not say what an agent wants said",
          ),
        )
        .finally(() => {
          this.#open.delete(message.id);
          if (isMore && !this.#options.signal.aborted) this.poke();
        });
    }
    this.#state = state;
  }

  get #voice(): VoiceClient {
    return this.#options.vm.voice;
  }

  async #sayUntilItWorks(message: Spoken): Promise<void> {
    const { signal, log } = this.#options;
    const how = { firstMs: FIRST_WAIT_MS, longestMs: LONGEST_WAIT_MS, signal };
    await retry(
      how,
      () => this.#say(message),
      (error) => {
        // The next start says it.
        if (!signal.aborted) log.warn({ spokenId: message.id, err: error }, "what an agent wants said waits");
      },
    );
  }

  async #say({ id, threadId, channelId, state, text, files, isSilent, replyTo }: Spoken): Promise<void> {
    const served = this.#options.channels.find(channelId);
    if (!served || served.problem !== null) {
      const reason = `the channel can't be written to${served?.problem ? `: ${served.problem}` : ", it is not served"}`;
      return this.#voice.noteSpoken(id, { state: "refused", reason: reason.slice(0, 500) });
    }
    if (state === "queued") await this.#voice.noteSpoken(id, { state: "sending" });
    const { channel } = served;
    try {
      for (const [at, page] of splitMarkdown(text).pages.entries()) {
        const answers = at === 0 && replyTo !== null && { replyTo };
        await channel.say(nameOf(id, at), { text: page, ...answers, ...(isSilent && { isSilent }) });
      }
      for (const [at, name] of files.entries()) {
        const post = { text: `📎 ${inline(name, 150)}`, file: `${threadId}/${name}` };
        await channel.say(`m${id}.file${at}`, { ...post, ...(isSilent && { isSilent }) });
      }
    } catch (error) {
      const refusal = findRefusal(error);
      if (refusal === undefined) throw error;
      return this.#voice.noteSpoken(id, { state: "refused", reason: `Discord says: ${refusal}` });
    }
    const messageId = await channel.findSaid(nameOf(id, 0));
    // Deleted by a person at once: it was said all the same.
    await this.#voice.noteSpoken(id, { state: "sent", messageId: snowflakeSchema.parse(messageId ?? "0") });
  }
}

/** In the channel's ledger. */
function nameOf(id: number, page: number): string {
  return `m${id}.${page}`;
}
