/** A person presses a button, chooses from a list, or sends a form, as far as Discord's own client lets them. */

import type { Interaction } from "./interaction-store.ts";
import { createInteraction, messageInteraction } from "./interactions.ts";
import { PersonError } from "./option-values.ts";
import type { FormInput } from "./seen.ts";
import type { World } from "./state.ts";
import { type Channel, type Component, isThread, type Message, type Snowflake } from "./types.ts";
import { findInteractive } from "./validate-components.ts";
import { canView, type Wire } from "./wire.ts";

const BUTTON = 2;
const STRING_SELECT = 3;
const MAX_INPUT_CHARACTERS = 4000;

/** Presses a button, or chooses `values` in a select. */
export function operateComponent(
  world: World,
  use: { userId: Snowflake; messageId: Snowflake; customId: string; values?: readonly string[] },
): Interaction {
  const message = findAnyMessage(world, use.messageId, use.userId);
  if (!message) throw new PersonError("There is no such message.");
  const component = findInteractive(message.components, use.customId);
  if (!component) throw new PersonError(`The message has no component "${use.customId}".`);
  if (component["disabled"] === true) throw new PersonError("That is switched off.");
  checkChoice(component, use.values ?? []);
  const channel = getUsableChannel(world, use.userId, message.channel_id);
  if (isThread(channel) && channel.thread_metadata.archived) {
    throw new PersonError("The thread is archived.");
  }
  return createInteraction(world, {
    type: 3,
    userId: use.userId,
    channelId: message.channel_id,
    messageId: message.id,
    data: {
      custom_id: use.customId,
      component_type: component.type,
      ...(component.type === 2 ? {} : { values: use.values ?? [] }),
    },
  });
}

/** Sends the form that the bot answered `interaction` with. */
export function submitModal(
  world: World,
  interaction: Interaction,
  values: Readonly<Record<string, string>>,
): Interaction {
  const modal = interaction.modal;
  if (!modal) throw new PersonError("There is no form to send.");
  const entries = formInputs(modal).map((input) => ({
    type: 1,
    components: [{ type: 4, custom_id: input.customId, value: checkedValue(input, values[input.customId]) }],
  }));
  return createInteraction(world, {
    type: 5,
    userId: interaction.userId,
    channelId: interaction.channelId,
    ...(interaction.messageId === undefined ? {} : { messageId: interaction.messageId }),
    triggeredBy: messageInteraction(interaction),
    data: { custom_id: modal["custom_id"], components: entries },
  });
}

/** The text fields of a form: in action rows, or in labels (type 18). */
export function formInputs(modal: Record<string, unknown>): FormInput[] {
  const rows = Array.isArray(modal["components"]) ? (modal["components"] as Wire[]) : [];
  return rows.flatMap((row) => {
    const inner = (row["component"] ?? (row["components"] as Wire[] | undefined)?.[0]) as Wire | undefined;
    if (typeof inner?.["custom_id"] !== "string" || inner["type"] !== 4) return [];
    return [
      {
        customId: inner["custom_id"],
        label: String(row["label"] ?? inner["label"] ?? inner["custom_id"]),
        isLong: inner["style"] === 2,
        isRequired: inner["required"] !== false,
        value: typeof inner["value"] === "string" ? inner["value"] : "",
        placeholder: typeof inner["placeholder"] === "string" ? inner["placeholder"] : "",
        minLength: typeof inner["min_length"] === "number" ? inner["min_length"] : 0,
        maxLength: typeof inner["max_length"] === "number" ? inner["max_length"] : MAX_INPUT_CHARACTERS,
      },
    ];
  });
}

/** @throws PersonError if there is none, or this person does not see it */
export function getUsableChannel(world: World, userId: Snowflake, channelId: Snowflake): Channel {
  const channel = world.findChannel(channelId);
  if (!channel || !canView(world, userId, channel)) throw new PersonError("There is no such channel.");
  return channel;
}

function findAnyMessage(world: World, id: Snowflake, userId: Snowflake): Message | undefined {
  const own = world.passing.ephemerals.get(id);
  if (own) return own.ephemeral_for === userId ? own : undefined;
  for (const messages of world.data.messages.values()) {
    const found = messages.get(id);
    if (found) return found;
  }
  return undefined;
}

/** Of a list as many as it allows, each one of those that it offers and each once. */
function checkChoice(component: Component, values: readonly string[]): void {
  if (component.type === BUTTON) return;
  const least = typeof component["min_values"] === "number" ? component["min_values"] : 1;
  const most = typeof component["max_values"] === "number" ? component["max_values"] : 1;
  if (values.length < least || values.length > most) {
    throw new PersonError(least === most ? `Choose ${most}.` : `Choose ${least} to ${most}.`);
  }
  if (new Set(values).size < values.length) throw new PersonError("Each can be chosen once.");
  if (component.type !== STRING_SELECT || !Array.isArray(component["options"])) return;
  const offered = component["options"].map((option: unknown) => Reflect.get(Object(option), "value"));
  const other = values.find((value) => !offered.includes(value));
  if (other !== undefined) throw new PersonError(`"${other}" is not among the choices.`);
}

function checkedValue(input: FormInput, value = ""): string {
  const length = [...value].length;
  if (length === 0 && !input.isRequired) return value;
  if (length === 0) throw new PersonError(`"${input.label}" is needed.`);
  if (length >= input.minLength && length <= input.maxLength) return value;
  throw new PersonError(`"${input.label}" must be ${input.minLength} to ${input.maxLength} characters.`);
}
