import { LIMIT_NAMES, type LimitChanges } from "../../../../shared/agent/limit-schema.ts";
import { describeLimit } from "../../../../shared/agent/limits.ts";
import { AppError } from "../../../../shared/errors.ts";
import { nameOf } from "../../../content/texts.ts";
import { addLimitOptions, chosenLimits, limitOptionName } from "../limit-options.ts";
import { control, type Part, threadOption } from "./part.ts";

export const limit: Part = {
  define: (part) => {
    part.setName("limit").setDescription("What an agent may use up before it asks whether to go on");
    addLimitOptions(part, "; 0 takes this limit away");
    return part.addStringOption(threadOption("Which agent; this one if left out"));
  },
  right: "decide",
  isPrivate: false,
  run: async (interaction, context) => {
    const chosen = Object.entries(chosenLimits(interaction));
    const limits: LimitChanges = Object.fromEntries(chosen.map(([name, value]) => [name, value || null]));
    if (chosen.length === 0) {
      const names = LIMIT_NAMES.map(limitOptionName).join(", ");
      throw new AppError("invalid_request", `limit: choose at least one of ${names}.`);
    }
    const thread = await control(interaction, context, { control: "limit", limits });
    const said = LIMIT_NAMES.flatMap((name) => {
      const value = limits[name];
      if (value === undefined) return [];
      return value === null ? `no limit of ${limitOptionName(name)}` : describeLimit(name, value);
    });
    await interaction.editReply(`⏳ ${nameOf(thread)} may use up, in all: ${said.join(", ")}.`);
  },
};
