/** The options of a command in use: checked as Discord's client checks them, then put into Discord's shape. */
import { addFiles } from "./attachments.ts";
import type { World } from "./state.ts";
import { type Channel, type Command, type CommandOption, OptionType, type UploadedFile } from "./types.ts";
import { attachmentWire, channelWire, memberWithUserWire, roleWire, userWire, type Wire } from "./wire.ts";

export type OptionValue = string | number | boolean | UploadedFile;
export type OptionValues = Record<string, OptionValue>;

/** Something that Discord's client would not let a person do; the message says why. */
export class PersonError extends Error {}

type Resolved = { users: Wire; members: Wire; channels: Wire; roles: Wire; attachments: Wire };

/** What the value must be and is not: `at most 5`. */
export function findValueProblem(option: CommandOption, value: OptionValue): string | undefined {
  const problem = findTypeProblem(option, value);
  if (problem !== undefined) return problem;
  const { choices } = option;
  if (!choices || choices.length === 0 || choices.some((choice) => choice.value === value)) return undefined;
  return `one of ${choices.map((choice) => choice.name).join(", ")}`;
}

function findTypeProblem(option: CommandOption, value: OptionValue): string | undefined {
  switch (option.type) {
    case OptionType.string:
      return typeof value === "string" ? findLengthProblem(option, value) : "text";
    case OptionType.integer:
      return Number.isInteger(value) ? findRangeProblem(option, Number(value)) : "a whole number";
    case OptionType.number:
      return typeof value === "number" ? findRangeProblem(option, value) : "a number";
    case OptionType.boolean:
      return typeof value === "boolean" ? undefined : "true or false";
    case OptionType.attachment:
      return typeof value === "object" ? undefined : "a file";
    default:
      return typeof value === "string" ? undefined : "an id";
  }
}

function findLengthProblem(option: CommandOption, value: string): string | undefined {
  const { min_length: min = 0, max_length: max = 6000 } = option;
  const length = [...value].length;
  if (length > max) return `at most ${max} characters`;
  return length < min ? `at least ${min} characters` : undefined;
}

function findRangeProblem(option: CommandOption, value: number): string | undefined {
  const { min_value: min, max_value: max } = option;
  if (min !== undefined && value < min) return `at least ${min}`;
  return max !== undefined && value > max ? `at most ${max}` : undefined;
}

/** `data` of the interaction; `focused` names the option that is being completed. */
export function commandData(
  world: World,
  channel: Channel,
  command: Command,
  path: readonly CommandOption[],
  leaf: readonly CommandOption[],
  values: OptionValues,
  focused?: string,
): Record<string, unknown> {
  const resolved: Resolved = { users: {}, members: {}, channels: {}, roles: {}, attachments: {} };
  let options: Wire[] = leaf.flatMap((option) => {
    const value = values[option.name];
    const isFocused = option.name === focused;
    if (value === undefined || (value === "" && !isFocused)) return [];
    return [
      {
        type: option.type,
        name: option.name,
        value: resolveValue(world, channel, option, value, resolved),
        ...(isFocused ? { focused: true } : {}),
      },
    ];
  });
  for (const entry of [...path].reverse()) options = [{ type: entry.type, name: entry.name, options }];
  const used = Object.entries(resolved).filter(([, entries]) => Object.keys(entries).length > 0);
  return {
    id: command.id,
    name: command.name,
    type: command.type,
    ...(command.guild_id === undefined ? {} : { guild_id: command.guild_id }),
    options,
    ...(used.length > 0 ? { resolved: Object.fromEntries(used) } : {}),
  };
}

function resolveValue(
  world: World,
  channel: Channel,
  option: CommandOption,
  value: OptionValue,
  resolved: Resolved,
): string | number | boolean {
  if (typeof value === "object") {
    const [file] = addFiles(world, undefined, [value]);
    if (!file) throw new PersonError("The file is missing.");
    resolved.attachments[file.id] = attachmentWire(world, channel.id, file);
    return file.id;
  }
  if (typeof value !== "string") return value;
  const role = world.data.roles.get(value);
  const takesRole = option.type === OptionType.role || option.type === OptionType.mentionable;
  if (role && takesRole) {
    resolved.roles[value] = roleWire(role);
  } else if (option.type === OptionType.role) {
    throw new PersonError(`"${option.name}" names no role here.`);
  } else if (option.type === OptionType.user || option.type === OptionType.mentionable) {
    const user = world.data.users.get(value);
    if (!user) throw new PersonError(`"${option.name}" names nobody here.`);
    const { user: _, ...member } = memberWithUserWire(world, value) as Wire & { user: unknown };
    resolved.users[value] = userWire(user);
    if (world.data.members.has(value)) {
      resolved.members[value] = { ...member, permissions: String(world.permissions(value, channel)) };
    }
  } else if (option.type === OptionType.channel) {
    const found = world.findChannel(value);
    if (!found) throw new PersonError(`"${option.name}" names no channel here.`);
    resolved.channels[value] = channelWire(world, found);
  }
  return value;
}
