/** A person uses a command: the checks that Discord's own client makes, then an interaction. */

import type { Interaction } from "./interaction-store.ts";
import { createInteraction } from "./interactions.ts";
import { commandData, findValueProblem, type OptionValues, PersonError } from "./option-values.ts";
import { has, Permission } from "./permissions.ts";
import { getUsableChannel } from "./person-components.ts";
import type { World } from "./state.ts";
import {
  type Channel,
  type Command,
  type CommandOption,
  CommandType,
  isThread,
  OptionType,
  type Snowflake,
} from "./types.ts";
import { messageWire } from "./wire.ts";

/** Commands of a kind that this person is offered: registered, and not kept from them by their permissions. */
export function commandsFor(world: World, userId: Snowflake, type: number = CommandType.slash): Command[] {
  // A server's commands are offered everywhere; who may use them here is asked when one is used.
  const permissions = world.serverPermissions(userId);
  return [...world.data.commands.values()].filter((command) => {
    if (command.type !== type) return false;
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

/**
 * Uses a message command on a message, as the menu of a message does.
 * @throws PersonError
 */
export function runMessageCommand(
  world: World,
  use: { userId: Snowflake; channelId: Snowflake; messageId: Snowflake; name: string },
): Interaction {
  const channel = getCommandChannel(world, use);
  const command = commandsFor(world, use.userId, CommandType.message).find(({ name }) => name === use.name);
  if (!command) throw new PersonError(`There is no message command "${use.name}".`);
  const target = world.findMessage(channel.id, use.messageId);
  if (!target) throw new PersonError("There is no such message.");
  // The target is shown to the bot whole, whatever its intents.
  const viewer = { userId: world.data.applicationId, mayReadContent: true };
  return createInteraction(world, {
    type: 2,
    userId: use.userId,
    channelId: channel.id,
    data: {
      id: command.id,
      name: command.name,
      type: command.type,
      ...(command.guild_id === undefined ? {} : { guild_id: command.guild_id }),
      target_id: target.id,
      resolved: { messages: { [target.id]: messageWire(world, target, viewer) } },
    },
  });
}

function getCommandChannel(world: World, use: { userId: Snowflake; channelId: Snowflake }): Channel {
  const channel = getUsableChannel(world, use.userId, use.channelId);
  // Commands are not offered in archived threads.
  if (isThread(channel) && channel.thread_metadata.archived) {
    throw new PersonError("Commands cannot be used in an archived thread.");
  }
  if (!has(world.permissions(use.userId, channel), Permission.useApplicationCommands)) {
    throw new PersonError("You may not use commands here.");
  }
  return channel;
}

function findCommandUse(
  world: World,
  use: { userId: Snowflake; channelId: Snowflake; name: string },
): { channel: Channel; command: Command; path: CommandOption[]; leaf: CommandOption[] } {
  const channel = getCommandChannel(world, use);
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
