import { SlashCommandBuilder } from "discord.js";
import type { CreateRequest } from "../../../shared/api.ts";
import { chosenEngine } from "../../../shared/engines-api.ts";
import { type Command, dirOption, MAX_OPTION_CHARACTERS, tellWait } from "./command.ts";
import { addDirectiveOptions, chosenDirective } from "./directive-options.ts";
import { addLimitOptions, chosenLimits } from "./limit-options.ts";

type AgentRequest = NonNullable<CreateRequest["agent"]>;

/** As long as the sidecar takes a name. */
const MAX_NAME = 200;

const definition = new SlashCommandBuilder()
  .setName("agent")
  .setDescription("Give a coding agent a task, in a thread of its own")
  .addStringOption(dirOption("Directory to work in, below the repositories' folder"))
  .addStringOption((option) =>
    option
      .setName("prompt")
      .setDescription("What the agent is to do")
      .setRequired(true)
      .setMaxLength(MAX_OPTION_CHARACTERS),
  );
definition.addStringOption((option) =>
  option
    .setName("engine")
    .setDescription("Which engine; the sidecar's default if left out")
    .setMaxLength(MAX_NAME)
    .setAutocomplete(true),
);
definition.addStringOption((option) =>
  option
    .setName("model")
    .setDescription("Which model, as the engine names it; the engine's own choice if left out")
    .setMaxLength(MAX_NAME)
    .setAutocomplete(true),
);
addLimitOptions(definition, ", then it asks whether to go on");
definition.addBooleanOption((option) =>
  option.setName("worktree").setDescription("In a git worktree and on a branch of its own"),
);

addDirectiveOptions(definition);

export const agent: Command = {
  definition: definition.toJSON(),
  isPrivate: false,
  run: async (interaction, { vm, beginnings, now }) => {
    const prompt = interaction.options.getString("prompt", true);
    const dir = interaction.options.getString("dir", true);
    const limits = chosenLimits(interaction);
    const isApart = interaction.options.getBoolean("worktree") ?? false;
    const engine = interaction.options.getString("engine")?.trim();
    const model = interaction.options.getString("model")?.trim();
    const options = {
      ...(engine && (chosenEngine(engine) as AgentRequest)),
      ...(model && { model }),
      ...(Object.keys(limits).length > 0 && { limits }),
      ...(await chosenDirective(interaction, vm, dir)),
      ...(isApart && { workspace: "worktree" as const }),
    };
    const threadId = await beginnings.create(
      {
        type: "agent",
        dir,
        command: prompt,
        userId: interaction.user.id,
        ...(Object.keys(options).length > 0 && { agent: options }),
      },
      tellWait(interaction, now),
    );
    await interaction.editReply(`🤖 At work in <#${threadId}>`);
  },
};
