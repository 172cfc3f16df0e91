/** What an agent may use up, as options of the commands that make one or change one. */
import type {
  ChatInputCommandInteraction,
  SlashCommandOptionsOnlyBuilder,
  SlashCommandSubcommandBuilder,
} from "discord.js";
import { LIMIT_NAMES, type LimitName } from "../../../shared/agent/limit-schema.ts";

const OPTIONS: Record<LimitName, { name: string; what: string }> = {
  turns: { name: "turns", what: "turns" },
  calls: { name: "calls", what: "calls of the model" },
  tokens: { name: "tokens", what: "tokens" },
  spendUsd: { name: "usd", what: "dollars" },
  seconds: { name: "seconds", what: "seconds of work" },
};

/** A command, or a part of one. */
type Options = SlashCommandOptionsOnlyBuilder | SlashCommandSubcommandBuilder;

/** @param after what the description says beyond `So many turns in all` */
export function addLimitOptions(options: Options, after: string): void {
  for (const limit of LIMIT_NAMES) {
    const { name, what } = OPTIONS[limit];
    const description = `So many ${what} in all${after}`;
    if (limit === "spendUsd")
      options.addNumberOption((option) => option.setName(name).setDescription(description).setMinValue(0));
    else
      options.addIntegerOption((option) => option.setName(name).setDescription(description).setMinValue(0));
  }
}

/** The limits that were chosen, as they were typed: 0 too. */
export function chosenLimits({
  options,
}: Pick<ChatInputCommandInteraction, "options">): Partial<Record<LimitName, number>> {
  const values = LIMIT_NAMES.flatMap((name): [LimitName, number][] => {
    const option = OPTIONS[name].name;
    const value = name === "spendUsd" ? options.getNumber(option) : options.getInteger(option);
    return value === null ? [] : [[name, value]];
  });
  return Object.fromEntries(values);
}

/** As the option is called. */
export function limitOptionName(limit: LimitName): string {
  return OPTIONS[limit].name;
}
