import { type ChatInputCommandInteraction, SlashCommandBuilder } from "discord.js";
import { allModes } from "../../../shared/agent/engines/engines.ts";
import { LIMIT_NAMES } from "../../../shared/agent/limit-schema.ts";
import { CHANNEL_MODES, type ChannelRequest } from "../../../shared/channel-api.ts";
import { AppError } from "../../../shared/errors.ts";
import { type DiscordId, discordIdSchema } from "../../../shared/ids.ts";
import type { RoleRequest } from "../../../shared/people-api.ts";
import { ROLES, type Role } from "../../../shared/rights.ts";
import type { Reply } from "../../actions/frame/controls.ts";
import { toMessage } from "../buttons.ts";
import { channelOf } from "./channel-here.ts";
import { type Command, dirOption, HEARER_OPTION, USUAL } from "./command.ts";
import { addLimitOptions, chosenLimits, limitOptionName } from "./limit-options.ts";

/** The choice that takes a role away. */
const NO_ROLE = "none";
/** What each role means, as it stands in the list of choices. */
const ROLE_WORDS: Readonly<Record<Role | typeof NO_ROLE, string>> = {
  owner: "all, and gives roles",
  maker: "what a member may, begins threads and jobs, sets the channel",
  member: "writes, presses buttons, decides what agents ask",
  viewer: "looks on",
  guest: "writes what somebody else has to let in",
  none: "takes the role back",
};
/** As long as the sidecar takes a name. */
const MAX_NAME = 200;

/** The options that are not called as the sidecar calls the fields. */
const OPTION_NAMES: readonly (readonly [field: string, option: string])[] = [
  ["permissionMode", "permission-mode"],
  ["agent.program", "engine"],
  ...LIMIT_NAMES.map((name) => [`limits.${name}`, limitOptionName(name)] as const),
];

const definition = new SlashCommandBuilder()
  .setName("here")
  .setDescription("Show this channel's settings, or set them: the bot serves the channel from then on");
definition.addStringOption(dirOption("Where its threads run if nobody says where"));
definition.addStringOption((option) =>
  option
    .setName("mode")
    .setDescription("What a message here does: nothing, or begin an agent (if it names me, or always)")
    .addChoices(...CHANNEL_MODES.map((name) => ({ name, value: name }))),
);
for (const [name, description] of [
  ["engine", "Of its agents: their engine; default: the sidecar's"],
  ["model", "Of its agents: their model; default: the engine's own choice"],
  ["directive", "By which its agents are made; default: none"],
  [HEARER_OPTION, "In mode main: the name of the one agent that hears it; default: main"],
] as const)
  definition.addStringOption((option) =>
    option.setName(name).setDescription(description).setMaxLength(MAX_NAME).setAutocomplete(true),
  );
definition.addStringOption((option) =>
  option
    .setName("permission-mode")
    .setDescription("What its agents may do without asking; default: the engine's")
    .addChoices(...[USUAL, ...allModes()].map((name) => ({ name, value: name }))),
);
definition.addBooleanOption((option) =>
  option
    .setName("worktree")
    .setDescription("Its agents work in a git worktree each, if nobody says otherwise"),
);
addLimitOptions(definition, " for each of its agents; 0 takes this limit away");
definition.addMentionableOption((option) =>
  option
    .setName("who")
    .setDescription("A person, or a role at Discord, whom you give a role in this channel"),
);
definition.addStringOption((option) =>
  option
    .setName("role")
    .setDescription("What they may in this channel; none takes it back")
    .addChoices(
      ...([...ROLES, NO_ROLE] as const).map((role) => ({
        name: `${role}: ${ROLE_WORDS[role]}`,
        value: role,
      })),
    ),
);
definition.addBooleanOption((option) =>
  option.setName("remove").setDescription("Serve this channel no more; its threads go on"),
);

export const here: Command = {
  definition: definition.toJSON(),
  // Values are completed for people who may set them: directories are other channels' too.
  right: (interaction) => (interaction.isAutocomplete() ? "settings" : "read"),
  isPrivate: true,
  run: async (interaction, context) => {
    const channelId = channelOf(interaction, context.threads);
    const userId = interaction.user.id;
    const request = requestOf(interaction);
    const isNamed = Object.keys(request).length > 0;
    const isRemoved = interaction.options.getBoolean("remove") === true;
    const role = roleOf(interaction, channelId);
    if ([isNamed, isRemoved, role !== undefined].filter(Boolean).length > 1 && role)
      throw new AppError(
        "invalid_request",
        "who: stands with role alone; give other options in another /here.",
      );
    if (isRemoved && isNamed)
      throw new AppError("invalid_request", "remove: must stand alone, without other options.");
    try {
      if (role) await answer(interaction, context.here.setRole(channelId, role, context.vm, userId));
      else if (isRemoved) await answer(interaction, context.here.remove(channelId, context.vm));
      else if (isNamed) await answer(interaction, context.here.set(channelId, request, context.vm, userId));
      else await answer(interaction, context.here.show(channelId, context.vm, userId));
    } catch (error) {
      throw byOptions(error);
    }
  },
};

async function answer(interaction: ChatInputCommandInteraction, reply: Promise<Reply>): Promise<void> {
  await interaction.editReply(toMessage(await reply));
}

/** @throws AppError `invalid_request` if one of the two options is missing */
function roleOf({ options }: ChatInputCommandInteraction, channelId: DiscordId): RoleRequest | undefined {
  const who = options.get("who");
  const name = options.getString("role");
  if (who === null && name === null) return undefined;
  if (who === null) throw new AppError("invalid_request", "who: say who is to have that role.");
  if (name === null) throw new AppError("invalid_request", "role: say which role they are to have.");
  const role = ROLES.find((one) => one === name) ?? null;
  return { kind: who.role ? "role" : "user", id: discordIdSchema.parse(who.value), channelId, role };
}

function requestOf(interaction: ChatInputCommandInteraction): ChannelRequest {
  const { options } = interaction;
  const text = (name: string) => options.getString(name)?.trim();
  const choice = (name: string) => (text(name) === USUAL ? null : text(name));
  const limits = Object.entries(chosenLimits(interaction)).map(([name, value]) => [name, value || null]);
  const given = {
    ...{ dir: text("dir"), mode: text("mode"), engine: choice("engine"), model: choice("model") },
    ...{
      permissionMode: choice("permission-mode"),
      directive: choice("directive"),
      agent: choice(HEARER_OPTION),
    },
    worktree: options.getBoolean("worktree") ?? undefined,
    ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
  };
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  // The sidecar checks each field.
  return Object.fromEntries(named) as ChannelRequest;
}

/** The sidecar's refusal, which names a field, as one that names the option. */
function byOptions(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const [field, option] = OPTION_NAMES.find(([name]) => error.message.startsWith(`${name}:`)) ?? [];
  if (field === undefined) return error;
  return new AppError(error.code, `${option}${error.message.slice(field.length)}`, { cause: error });
}
