import { SlashCommandBuilder } from "discord.js";
import type { CreateRequest } from "../../../shared/api.ts";
import { chosenEngine } from "../../../shared/engines-api.ts";
import { agentOf } from "../../threads/channel-agent.ts";
import { addBudgetOptions, chosenBudget } from "./budget-options.ts";
import { chosenPlace } from "./channel-here.ts";
import { type Command, dirOption, MAX_OPTION_CHARACTERS, tellWait } from "./command.ts";
import { addDirectiveOptions, chosenDirective } from "./directive-options.ts";
import { addLimitOptions, chosenLimits } from "./limit-options.ts";

type AgentRequest = NonNullable<CreateRequest["agent"]>;

/** As long as the sidecar takes a name. */
const MAX_NAME = 200;

const definition = new SlashCommandBuilder()
  .setName("agent")
  .setDescription("Give a coding agent a task, in a thread of its own")
  .addStringOption((option) =>
    option
      .setName("prompt")
      .setDescription("What the agent is to do")
      .setRequired(true)
      .setMaxLength(MAX_OPTION_CHARACTERS),
  );
definition.addStringOption(dirOption("Directory to work in; left out, the channel's"));
definition.addStringOption((option) =>
  option
    .setName("engine")
    .setDescription("Which engine; left out, the channel's or the sidecar's default")
    .setMaxLength(MAX_NAME)
    .setAutocomplete(true),
);
definition.addStringOption((option) =>
  option
    .setName("model")
    .setDescription("Which model, as the engine names it; left out, the channel's or the engine's own choice")
    .setMaxLength(MAX_NAME)
    .setAutocomplete(true),
);
addLimitOptions(definition, ", then it asks whether to go on");
definition.addBooleanOption((option) =>
  option.setName("worktree").setDescription("In a git worktree and on a branch of its own"),
);
addBudgetOptions(definition);
addDirectiveOptions(definition);

export const agent: Command = {
  definition: definition.toJSON(),
  right: "run",
  isPrivate: false,
  run: async (interaction, context) => {
    const { options } = interaction;
    const { dir, channelId, served } = chosenPlace(interaction, context, options.getString("dir"));
    const made = await chosenDirective(interaction, context.vm, dir);
    const engine = options.getString("engine")?.trim();
    const model = options.getString("model")?.trim();
    const chosen = { ...made, ...(engine && (chosenEngine(engine) as AgentRequest)) };
    const asked = {
      ...(Object.keys(chosen).length > 0 && { engine: chosen }),
      ...(model && { model }),
      ...{ limits: chosenLimits(interaction), worktree: options.getBoolean("worktree") },
    };
    const command = options.getString("prompt", true);
    const threadId = await context.beginnings.create(
      {
        ...{ channelId, dir, type: "agent", command, userId: interaction.user.id },
        ...{ budget: chosenBudget(interaction), ...agentOf(served?.row, asked) },
      },
      tellWait(interaction, context.now),
    );
    await interaction.editReply(`🤖 At work in <#${threadId}>`);
  },
};
