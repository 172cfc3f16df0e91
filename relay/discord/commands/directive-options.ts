/** The directive that an agent is made by, as options of a command. */
import type {
  ChatInputCommandInteraction,
  SlashCommandOptionsOnlyBuilder,
  SlashCommandSubcommandBuilder,
} from "discord.js";
import type { CreateRequest } from "../../../shared/api.ts";
import { valuesOfWords, wordsOfLine } from "../../../shared/directives/inputs.ts";
import type { Vm } from "../../sidecar/vm.ts";
import { MAX_OPTION_CHARACTERS } from "./command.ts";

export function addDirectiveOptions(
  options: SlashCommandOptionsOnlyBuilder | SlashCommandSubcommandBuilder,
): void {
  options.addStringOption((option) =>
    option
      .setName("as")
      .setDescription("A directive: an agent with a name, such as reviewer")
      .setMaxLength(80)
      .setAutocomplete(true),
  );
  options.addStringOption((option) =>
    option
      .setName("inputs")
      .setDescription('Of the directive, such as target=prod why="some words"')
      .setMaxLength(MAX_OPTION_CHARACTERS),
  );
}

/** @throws AppError `invalid_request` */
export async function chosenDirective(
  { options }: Pick<ChatInputCommandInteraction, "options">,
  vm: Vm,
  dir: string,
): Promise<Pick<NonNullable<CreateRequest["agent"]>, "directive" | "inputs">> {
  const directive = options.getString("as")?.trim();
  const line = options.getString("inputs");
  if (line === null) return directive === undefined ? {} : { directive };
  const words = wordsOfLine(line);
  if (directive === undefined) return { inputs: words };
  const wanted = directive.replace(/^(?:project|user):/, "");
  const found = await vm.listDirectives(dir);
  const named = found.find(({ as }) => as === directive) ?? found.find(({ name }) => name === wanted);
  return { directive, inputs: named ? valuesOfWords(named.inputs, words) : words };
}
