/** REST: the gateway's address, who the bot is, commands, interactions and their webhooks. */
import * as z from "zod";
import { invalidForm, rateLimited, refuse } from "./discord-error.ts";
import type { Interaction } from "./interaction-store.ts";
import {
  answerInteraction,
  deleteReply,
  editReply,
  findByToken,
  followUp,
  getReply,
  wireFor,
} from "./interactions.ts";
import { getMember } from "./roles.ts";
import { getId, parse, type Reply, type Route, type RouteContext } from "./route.ts";
import { type Command, isThread, type Message } from "./types.ts";
import { type CommandInput, commandSchema } from "./validate-commands.ts";
import { channelWire, commandWire, memberWithUserWire, roleWire, userWire } from "./wire.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Per scope (global or guild): 100 slash commands, 15 each of the two context menu kinds. */
const MAX_COMMANDS: Record<number, number> = { 1: 100, 2: 15, 3: 15 };

const COMMANDS = ["/applications/:application/commands", "/applications/:application/guilds/:guild/commands"];
const REPLY = "/webhooks/:webhook/:token/messages/:message";

export const appRoutes: Route[] = [
  {
    method: "GET",
    path: "/gateway",
    auth: "bot",
    handle: (context) => ({ status: 200, body: { url: context.gatewayUrl } }),
  },
  {
    method: "GET",
    path: "/gateway/bot",
    auth: "bot",
    handle: (context) => {
      const { remaining, resetAfterMs } = context.sessionStarts();
      return {
        status: 200,
        body: {
          url: context.gatewayUrl,
          shards: 1,
          session_start_limit: {
            total: context.world.limits.identify.total,
            remaining,
            reset_after: resetAfterMs,
            max_concurrency: 1,
          },
        },
      };
    },
  },
  { method: "GET", path: "/users/@me", auth: "bot", handle: (context) => userReply(context, context.botId) },
  {
    method: "GET",
    path: "/users/:user",
    auth: "bot",
    handle: (context) => userReply(context, getId(context, "user")),
  },
  ...["/applications/@me", "/oauth2/applications/@me"].map(
    (path): Route => ({
      method: "GET",
      path,
      auth: "bot",
      handle: ({ world }) => ({
        status: 200,
        body: {
          id: world.data.applicationId,
          name: "threadmux",
          icon: null,
          description: "",
          bot_public: false,
          bot_require_code_grant: false,
          flags: world.switches.isMessageContentGranted ? 1 << 19 : 0,
          owner: userWire(world.getUser(world.data.ownerId)),
        },
      }),
    }),
  ),
  {
    method: "GET",
    path: "/guilds/:guild",
    auth: "bot",
    handle: (context) => {
      const { world } = checkGuild(context);
      return {
        status: 200,
        body: {
          id: world.data.guildId,
          name: world.data.guildName,
          owner_id: world.data.ownerId,
          roles: [...world.data.roles.values()].map(roleWire),
          emojis: [],
          stickers: [],
          features: [],
        },
      };
    },
  },
  {
    method: "GET",
    path: "/guilds/:guild/channels",
    auth: "bot",
    handle: (context) => ({
      status: 200,
      body: [...checkGuild(context).world.data.channels.values()]
        .filter((channel) => !isThread(channel))
        .map((channel) => channelWire(context.world, channel)),
    }),
  },
  {
    method: "GET",
    path: "/guilds/:guild/members/:user",
    auth: "bot",
    handle: (context) => ({
      status: 200,
      body: memberWithUserWire(
        checkGuild(context).world,
        getMember(context.world, getId(context, "user")).user_id,
      ),
    }),
  },
  {
    method: "GET",
    path: "/guilds/:guild/roles",
    auth: "bot",
    handle: (context) => ({
      status: 200,
      body: [...checkGuild(context).world.data.roles.values()].map(roleWire),
    }),
  },
  ...COMMANDS.flatMap((path): Route[] => [
    { method: "GET", path, auth: "bot", handle: (context) => commandList(context) },
    { method: "PUT", path, auth: "bot", handle: replaceCommands },
    { method: "POST", path, auth: "bot", handle: createCommand },
    {
      method: "GET",
      path: `${path}/:command`,
      auth: "bot",
      handle: (context) => ({ status: 200, body: commandWire(context.world, getCommand(context)) }),
    },
    {
      method: "DELETE",
      path: `${path}/:command`,
      auth: "bot",
      handle: (context) => {
        context.world.data.commands.delete(getCommand(context).id);
        context.world.emit({ type: "commands-update" });
        return { status: 204 };
      },
    },
  ]),
  {
    method: "POST",
    path: "/interactions/:interaction/:token/callback",
    auth: "token",
    handle: ({ world, params, body, files, query }) => {
      const path = { id: params["interaction"] ?? "", token: params["token"] ?? "" };
      const answer = answerInteraction(world, path, body, files);
      const isWanted = ["true", "1"].includes(query.get("with_response") ?? "");
      return isWanted ? { status: 200, body: answer } : { status: 204 };
    },
  },
  {
    method: "POST",
    path: "/webhooks/:webhook/:token",
    auth: "token",
    handle: (context) => {
      const message = followUp(context.world, getInteraction(context), context.body, context.files);
      return { status: 200, body: wireFor(context.world, message) };
    },
  },
  {
    method: "GET",
    path: REPLY,
    auth: "token",
    handle: (context) => ({ status: 200, body: wireFor(context.world, getInteractionReply(context)) }),
  },
  {
    method: "PATCH",
    path: REPLY,
    auth: "token",
    handle: (context) => {
      const message = getInteractionReply(context);
      return {
        status: 200,
        body: wireFor(context.world, editReply(context.world, message, context.body, context.files)),
      };
    },
  },
  {
    method: "DELETE",
    path: REPLY,
    auth: "token",
    handle: (context) => {
      deleteReply(context.world, getInteractionReply(context));
      return { status: 204 };
    },
  },
];

function userReply(context: RouteContext, id: string): Reply {
  return { status: 200, body: userWire(context.world.getUser(id)) };
}

function checkGuild(context: RouteContext): RouteContext {
  if (getId(context, "guild") !== context.world.data.guildId) throw refuse(10004);
  return context;
}

function getInteraction({ world, params }: RouteContext): Interaction {
  return findByToken(world, params["webhook"] ?? "", params["token"] ?? "");
}

function getInteractionReply(context: RouteContext): Message {
  return getReply(context.world, getInteraction(context), context.params["message"] ?? "");
}

// --- commands ---------------------------------------------------------------------------------------------

function getScope(context: RouteContext): string | undefined {
  if (getId(context, "application") !== context.world.data.applicationId) throw refuse(50001);
  const guild = context.params["guild"];
  if (guild !== undefined && guild !== context.world.data.guildId) throw refuse(50001);
  return guild;
}

function commandsOf(context: RouteContext): Command[] {
  const scope = getScope(context);
  return [...context.world.data.commands.values()].filter((command) => command.guild_id === scope);
}

function commandList(context: RouteContext): Reply {
  return { status: 200, body: commandsOf(context).map((command) => commandWire(context.world, command)) };
}

function getCommand(context: RouteContext): Command {
  const command = commandsOf(context).find((entry) => entry.id === getId(context, "command"));
  if (!command) throw refuse(10063);
  return command;
}

/** PUT: what is listed is what there is afterwards. Names that exist are updates and cost no creation. */
function replaceCommands(context: RouteContext): Reply {
  const scope = getScope(context);
  const inputs = parse(context, z.array(commandSchema));
  const seen = new Set<string>();
  inputs.forEach((input, index) => {
    const key = `${input.type ?? 1} ${input.name}`;
    if (seen.has(key)) {
      throw invalidForm(
        [index],
        "APPLICATION_COMMANDS_DUPLICATE_NAME",
        "Application command names must be unique",
      );
    }
    seen.add(key);
  });
  checkCount(inputs);
  const before = commandsOf(context);
  const made = inputs.map((input) => makeCommand(context, input, before, scope));
  for (const command of before) context.world.data.commands.delete(command.id);
  for (const command of made) context.world.data.commands.set(command.id, command);
  context.world.emit({ type: "commands-update" });
  return commandList(context);
}

function createCommand(context: RouteContext): Reply {
  const scope = getScope(context);
  const input = parse(context, commandSchema);
  const before = commandsOf(context);
  const command = makeCommand(context, input, before, scope);
  const isNew = !before.some((entry) => entry.id === command.id);
  if (isNew) checkCount([...before, command]);
  context.world.data.commands.set(command.id, command);
  context.world.emit({ type: "commands-update" });
  return { status: isNew ? 201 : 200, body: commandWire(context.world, command) };
}

function checkCount(commands: readonly { type?: number | undefined }[]): void {
  for (const [type, max] of Object.entries(MAX_COMMANDS)) {
    if (commands.filter((command) => (command.type ?? 1) === Number(type)).length > max) throw refuse(30032);
  }
}

function makeCommand(
  context: RouteContext,
  input: CommandInput,
  before: readonly Command[],
  scope: string | undefined,
): Command {
  const type = input.type ?? 1;
  const known = before.find((entry) => entry.name === input.name && entry.type === type);
  if (!known) {
    const limit = { limit: context.world.limits.commandCreatesPerDay, perMs: DAY_MS };
    const waitMs = context.limiter.takeHidden(`command creates ${scope ?? "global"}`, limit);
    if (waitMs !== undefined) {
      throw rateLimited({ scope: "user", retryAfterMs: waitMs, code: 30034, message: refuse(30034).message });
    }
  }
  return {
    id: known?.id ?? context.world.nextId(),
    ...(scope === undefined ? {} : { guild_id: scope }),
    type,
    name: input.name,
    description: type === 1 ? (input.description ?? "") : "",
    options: input.options ?? [],
    default_member_permissions:
      input.default_member_permissions == null ? null : String(input.default_member_permissions),
    nsfw: input.nsfw ?? false,
    version: context.world.nextId(),
  };
}
