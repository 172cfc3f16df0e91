/** A command or component that a person used, and what came of it. */

import type { Interaction } from "./interaction-store.ts";
import { formInputs, submitModal } from "./person-components.ts";
import { seenMessage } from "./person-view.ts";
import type { FormInput, SeenMessage } from "./seen.ts";
import type { World } from "./state.ts";
import type { Message, Snowflake } from "./types.ts";
import { untilWorld } from "./waiting.ts";

export class Invocation {
  readonly id: Snowflake;
  readonly #world: World;
  readonly #interaction: Interaction;

  constructor(world: World, interaction: Interaction) {
    this.id = interaction.id;
    this.#world = world;
    this.#interaction = interaction;
  }

  /** Answered within 3 seconds: `acknowledged`; not so: `failed`. */
  get state(): "waiting" | "acknowledged" | "failed" {
    if (this.#interaction.ackType !== undefined) return "acknowledged";
    return this.#interaction.hasFailed ? "failed" : "waiting";
  }

  /** Callback type of the first answer: 4 message, 5 deferred, 6 deferred update, 7 update, 9 form. */
  get answerType(): number | undefined {
    return this.#interaction.ackType;
  }

  /** The answer as it is now, "thinking" or not. */
  find(): SeenMessage | undefined {
    const id = this.#interaction.responseId;
    const message = id === undefined ? undefined : this.#findMessage(id);
    return message && seenMessage(this.#world, message);
  }

  /** The answer once the bot has stopped thinking. @throws Error "The application did not respond" */
  reply(options: { timeoutMs?: number } = {}): Promise<SeenMessage> {
    return untilWorld(
      this.#world,
      () => {
        if (this.state === "failed") throw new Error("The application did not respond");
        const message = this.find();
        return message?.isLoading ? undefined : message;
      },
      { what: "an answer to the interaction", ...options },
    );
  }

  followUps(): SeenMessage[] {
    return this.#interaction.followUpIds.flatMap((id) => {
      const message = this.#findMessage(id);
      return message ? [seenMessage(this.#world, message)] : [];
    });
  }

  /** The form that the bot answered with. */
  form(): { title: string; inputs: FormInput[] } | undefined {
    const modal = this.#interaction.modal;
    return modal && { title: String(modal["title"]), inputs: formInputs(modal) };
  }

  submit(values: Record<string, string>): Invocation {
    return new Invocation(this.#world, submitModal(this.#world, this.#interaction, values));
  }

  #findMessage(id: Snowflake): Message | undefined {
    return this.#world.passing.ephemerals.get(id) ?? this.#world.findMessage(this.#interaction.channelId, id);
  }
}
