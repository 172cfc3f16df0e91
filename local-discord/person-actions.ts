/** What a person does: the checks that Discord's own client makes, then the same functions as the REST side. */
import { createInteraction } from "./interactions.ts";
import { commandData, findValueProblem, type OptionValues, PersonError } from "./option-values.ts";
import { has, Permission } from "./permissions.ts";
import type { Interaction, World } from "./state.ts";
import {
  type Channel,
  type Command,
  type CommandOption,
  isThread,
  type Message,
  OptionType,
  type Snowflake,
} from "./types.ts";
import { findInteractive } from "./validate-components.ts";
import { canView, type Wire } from "./wire.ts";

/** Commands that this person is offered: registered, and not kept from them by their permissions. */
export function commandsFor(world: World, userId: Snowflake): Command[] {
  const channel = world.getChannel(world.data.channelId);
  const permissions = world.permissions(userId, channel);
  return [...world.data.commands.values()].filter((command) => {
    if (command.type !== 1) return false;
    if (command.default_member_permissions === null) return true;
    const needed = BigInt(command.default_member_permissions);
    // "0" means administrators only.
    return has(permissions, needed === 0n ? Permission.administrator : needed);
  });
}

/**
 * Uses a slash command; `name` may go on with sub-command names ("thread list").
 * @throws PersonError
 */
export function runCommand(
  world: World,
  use: { userId: Snowflake; channelId: Snowflake; name: string; options?: OptionValues },
): Interaction {
  const { channel, command, path, leaf } = findCommandUse(world, use);
  const values = use.options ?? {};
  for (const name of Object.keys(values)) {
    if (!leaf.some((option) => option.name === name)) {
      throw new PersonError(`/${use.name} has no option "${name}".`);
    }
  }
  for (const option of leaf) {
    const value = values[option.name];
    if (value === undefined || value === "") {
      if (option.required) throw new PersonError(`/${use.name} needs "${option.name}".`);
      continue;
    }
    const problem = findValueProblem(option, value);
    if (problem !== undefined) throw new PersonError(`"${option.name}" must be ${problem}.`);
  }
  return createInteraction(world, {
    type: 2,
    userId: use.userId,
    channelId: channel.id,
    data: commandData(world, channel, command, path, leaf, values),
  });
}

/** Asks for completions of `focused`; other options may be missing. */
export function askAutocomplete(
  world: World,
  use: {
    userId: Snowflake;
    channelId: Snowflake;
    name: string;
    options: OptionValues;
    focused: string;
  },
): Interaction {
  const { channel, command, path, leaf } = findCommandUse(world, use);
  const option = leaf.find((entry) => entry.name === use.focused);
  if (!option?.autocomplete) throw new PersonError(`"${use.focused}" has no completions.`);
  const values = { ...use.options, [use.focused]: use.options[use.focused] ?? "" };
  return createInteraction(world, {
    type: 4,
    userId: use.userId,
    channelId: channel.id,
    data: commandData(world, channel, command, path, leaf, values, use.focused),
  });
}

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
  values: Record<string, string>,
): Interaction {
  const modal = interaction.modal;
  if (!modal) throw new PersonError("There is no form to send.");
  const entries = modalInputs(modal).map((input) => ({
    type: 1,
    components: [{ type: 4, custom_id: input.customId, value: values[input.customId] ?? "" }],
  }));
  return createInteraction(world, {
    type: 5,
    userId: interaction.userId,
    channelId: interaction.channelId,
    ...(interaction.messageId === undefined ? {} : { messageId: interaction.messageId }),
    data: { custom_id: modal["custom_id"], components: entries },
  });
}

export type ModalInput = {
  customId: string;
  label: string;
  isLong: boolean;
  isRequired: boolean;
  value: string;
};

/** The text fields of a form: in action rows, or in labels (type 18). */
export function modalInputs(modal: Record<string, unknown>): ModalInput[] {
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
      },
    ];
  });
}

function findAnyMessage(world: World, id: Snowflake, userId: Snowflake): Message | undefined {
  const own = world.ephemerals.get(id);
  if (own) return own.ephemeral_for === userId ? own : undefined;
  for (const messages of world.data.messages.values()) {
    const found = messages.get(id);
    if (found) return found;
  }
  return undefined;
}

function getUsableChannel(world: World, userId: Snowflake, channelId: Snowflake): Channel {
  const channel = world.findChannel(channelId);
  if (!channel || !canView(world, userId, channel)) throw new PersonError("There is no such channel.");
  return channel;
}

function findCommandUse(
  world: World,
  use: { userId: Snowflake; channelId: Snowflake; name: string },
): { channel: Channel; command: Command; path: CommandOption[]; leaf: CommandOption[] } {
  const channel = getUsableChannel(world, use.userId, use.channelId);
  // Commands are not offered in archived threads.
  if (isThread(channel) && channel.thread_metadata.archived) {
    throw new PersonError("Commands cannot be used in an archived thread.");
  }
  if (!has(world.permissions(use.userId, channel), Permission.useApplicationCommands)) {
    throw new PersonError("You may not use commands here.");
  }
  const [first, ...rest] = use.name.replace(/^\//, "").split(/\s+/);
  const command = commandsFor(world, use.userId).find((entry) => entry.name === first);
  if (!command) throw new PersonError(`There is no command /${use.name}.`);
  const path: CommandOption[] = [];
  let leaf = command.options;
  for (const name of rest) {
    const next = leaf.find((option) => option.name === name && option.type <= OptionType.subCommandGroup);
    if (!next) throw new PersonError(`/${use.name} does not exist.`);
    path.push(next);
    leaf = next.options ?? [];
  }
  // A command with sub-commands cannot be used bare.
  if (leaf.some((option) => option.type <= OptionType.subCommandGroup)) {
    throw new PersonError(`/${use.name} needs one of its sub-commands.`);
  }
  return { channel, command, path, leaf };
}
