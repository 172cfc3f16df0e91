import type { ChatInputCommandInteraction } from "discord.js";
import { LIMIT_NAMES, type LimitChanges, type LimitName } from "../../../../shared/agent/limit-schema.ts";
import { describeLimit } from "../../../../shared/agent/limits.ts";
import { AppError } from "../../../../shared/errors.ts";
import { byOf, control, nameOf, type Part, threadOption } from "./part.ts";

const OPTIONS: Record<LimitName, { name: string; description: string }> = {
  turns: { name: "turns", description: "So many turns in all; 0 takes this limit away" },
  tokens: { name: "tokens", description: "So many tokens in all; 0 takes this limit away" },
  spendUsd: { name: "usd", description: "So many dollars in all; 0 takes this limit away" },
  seconds: { name: "seconds", description: "So many seconds of work in all; 0 takes this limit away" },
};

export const limit: Part = {
  define: (part) => {
    part.setName("limit").setDescription("What an agent may use up before it asks whether to go on");
    for (const limitName of LIMIT_NAMES) {
      const { name, description } = OPTIONS[limitName];
      if (limitName === "spendUsd")
        part.addNumberOption((option) => option.setName(name).setDescription(description).setMinValue(0));
      else part.addIntegerOption((option) => option.setName(name).setDescription(description).setMinValue(0));
    }
    return part.addStringOption(threadOption("Which agent; this one if left out"));
  },
  isPrivate: false,
  run: async (interaction, context) => {
    const limits = chosen(interaction);
    if (Object.keys(limits).length === 0) {
      const names = LIMIT_NAMES.map((name) => OPTIONS[name].name).join(", ");
      throw new AppError("invalid_request", `limit: choose at least one of ${names}.`);
    }
    const thread = await control(interaction, context, { control: "limit", limits, by: byOf(interaction) });
    const said = LIMIT_NAMES.flatMap((name) => {
      const value = limits[name];
      if (value === undefined) return [];
      return value === null ? `no limit of ${OPTIONS[name].name}` : describeLimit(name, value);
    });
    await interaction.editReply(`⏳ ${nameOf(thread)} may use up, in all: ${said.join(", ")}.`);
  },
};

function chosen({ options }: ChatInputCommandInteraction): LimitChanges {
  const values = LIMIT_NAMES.flatMap((name): [LimitName, number | null][] => {
    const option = OPTIONS[name].name;
    const value = name === "spendUsd" ? options.getNumber(option) : options.getInteger(option);
    return value === null ? [] : [[name, value === 0 ? null : value]];
  });
  return Object.fromEntries(values);
}
