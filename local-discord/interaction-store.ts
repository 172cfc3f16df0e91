/** Interactions while their tokens may be used. They do not survive a restart. */
import type { MessageInteraction, Snowflake } from "./types.ts";

/** An interaction from its making until its token runs out. */
export type Interaction = {
  id: Snowflake;
  token: string;
  /** 2 command, 3 component, 4 autocomplete, 5 modal. */
  type: 2 | 3 | 4 | 5;
  userId: Snowflake;
  channelId: Snowflake;
  createdAt: number;
  data: Record<string, unknown>;
  /** The message whose component was used. */
  messageId?: Snowflake;
  /** Of a form that was sent: the interaction that it was the answer to. */
  triggeredBy?: MessageInteraction;
  /** Callback type of the first answer. */
  ackType?: number;
  responseId?: Snowflake;
  followUpIds: Snowflake[];
  hasFailed: boolean;
  choices?: { name: string; value: string | number }[];
  modal?: Record<string, unknown>;
};

export class Interactions {
  /** When this process, which had stood still for seconds with all that is in it, went on; by the world's clock. */
  wokeAt = 0;
  readonly #byId = new Map<Snowflake, Interaction>();

  add(interaction: Interaction): void {
    this.#byId.set(interaction.id, interaction);
  }

  find(id: Snowflake): Interaction | undefined {
    return this.#byId.get(id);
  }

  findByToken(token: string): Interaction | undefined {
    return this.list().find((interaction) => interaction.token === token);
  }

  list(): Interaction[] {
    return [...this.#byId.values()];
  }

  forgetOlderThan(createdAt: number): void {
    for (const interaction of this.list()) {
      if (interaction.createdAt < createdAt) this.#byId.delete(interaction.id);
    }
  }
}
