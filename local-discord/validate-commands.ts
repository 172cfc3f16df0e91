/** Discord's rules for application commands and for the answers to autocomplete. */
import * as z from "zod";
import type { CommandOption } from "./types.ts";
import { codePoints, list, oneOf, snowflake, text } from "./validate.ts";

/** Lower case letters of any script that has cases, digits, dash, underscore; 1 to 32. */
const NAME = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;
const MAX_COMMAND_SIZE = 8000;
const SUB_COMMAND_TYPES = [1, 2];

function commandName(code: string) {
  return z.string().superRefine((value, context) => {
    if (NAME.test(value) && value === value.toLowerCase()) return;
    const message = `${code === "APPLICATION_COMMAND_INVALID_NAME" ? "Command" : "Option"} name is invalid`;
    context.addIssue({ code: "custom", message, params: { discord: code } });
  });
}

/** A choice offered by autocomplete, or fixed in a command. */
export const choiceSchema = z.object({
  name: text(100, 1),
  value: z.union([text(100), z.number()]),
});

/** `data` of an autocomplete answer: at most 25. */
export const autocompleteSchema = z.object({ choices: list(choiceSchema, 25) });

const optionSchema: z.ZodType<CommandOption> = z.lazy(() =>
  z
    .object({
      type: oneOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
      name: commandName("APPLICATION_COMMAND_INVALID_NAME"),
      description: text(100, 1),
      required: z.boolean().optional(),
      autocomplete: z.boolean().optional(),
      choices: list(choiceSchema, 25).optional(),
      options: optionsField.optional(),
      min_value: z.number().optional(),
      max_value: z.number().optional(),
      min_length: z.number().int().min(0).max(6000).optional(),
      max_length: z.number().int().min(1).max(6000).optional(),
      channel_types: z.array(z.number().int()).optional(),
    })
    .superRefine((option, context) => {
      if (option.autocomplete && (option.choices?.length ?? 0) > 0) {
        context.addIssue({
          code: "custom",
          path: ["choices"],
          message: "Autocomplete options cannot have choices",
          params: { discord: "APPLICATION_COMMAND_OPTIONS_CHOICES_AUTOCOMPLETE_EXCLUSIVE" },
        });
      }
      if (option.autocomplete && ![3, 4, 10].includes(option.type)) {
        context.addIssue({
          code: "custom",
          path: ["autocomplete"],
          message: "Autocomplete is only for string, integer and number options",
          params: { discord: "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID" },
        });
      }
    }),
) as z.ZodType<CommandOption>;

const optionsField = list(optionSchema, 25).superRefine((options, context) => {
  const names = new Set<string>();
  let hasOptional = false;
  const hasSubCommand = options.some((option) => SUB_COMMAND_TYPES.includes(option.type));
  options.forEach((option, index) => {
    const add = (discord: string, message: string) =>
      context.addIssue({ code: "custom", path: [index], message, params: { discord } });
    if (names.has(option.name)) {
      add("APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", `Option name "${option.name}" already exists`);
    }
    names.add(option.name);
    if (hasSubCommand && !SUB_COMMAND_TYPES.includes(option.type)) {
      add(
        "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
        "Sub-command and sub-command group option types are mutually exclusive to all other types",
      );
    }
    if (option.required && hasOptional) {
      add(
        "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        "Required options must be placed before non-required options",
      );
    }
    hasOptional ||= !option.required;
  });
});

export const commandSchema = z
  .object({
    id: snowflake.optional(),
    type: oneOf([1, 2, 3]).optional(),
    name: z.string(),
    description: z.string().nullish(),
    options: optionsField.nullish(),
    default_member_permissions: z.union([z.string().regex(/^\d+$/), z.number().int()]).nullish(),
    nsfw: z.boolean().nullish(),
  })
  .superRefine((command, context) => {
    const add = (path: string[], discord: string, message: string) =>
      context.addIssue({ code: "custom", path, message, params: { discord } });
    const isSlash = (command.type ?? 1) === 1;
    const isNameRight = isSlash
      ? NAME.test(command.name) && command.name === command.name.toLowerCase()
      : codePoints(command.name) >= 1 && codePoints(command.name) <= 32;
    if (!isNameRight) add(["name"], "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
    const description = command.description ?? "";
    if (isSlash && description.trim() === "")
      add(["description"], "BASE_TYPE_REQUIRED", "This field is required");
    if (codePoints(description) > 100) {
      add(["description"], "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
    }
    if (commandSize(command.name, description, command.options ?? []) > MAX_COMMAND_SIZE) {
      add([], "APPLICATION_COMMAND_TOO_LARGE", `Command exceeds maximum size (${MAX_COMMAND_SIZE})`);
    }
  });

export type CommandInput = z.infer<typeof commandSchema>;

/** Names, descriptions and choice values of the whole tree count together. */
function commandSize(name: string, description: string, options: readonly CommandOption[]): number {
  let size = codePoints(name) + codePoints(description);
  for (const option of options) {
    size += commandSize(option.name, option.description, option.options ?? []);
    for (const choice of option.choices ?? []) size += codePoints(choice.name + String(choice.value));
  }
  return size;
}
