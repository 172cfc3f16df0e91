/** What happens, as server-sent events: first everything there is, then every change, without a gap. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { assertNever } from "../shared/errors.ts";
import type { Interaction } from "./interaction-store.ts";
import { commandName } from "./interactions.ts";
import { commandsFor } from "./person-commands.ts";
import { formInputs } from "./person-components.ts";
import { personName, seenChannel, seenMessage, seenThread } from "./person-view.ts";
import type { PageEvent, SeenCommand, SeenUse } from "./seen.ts";
import type { World, WorldEvent } from "./state.ts";
import { type CommandOption, CommandType, OptionType, type Snowflake } from "./types.ts";
import { canView } from "./wire.ts";

const KEEP_ALIVE_MS = 20_000;
/** A page that does not read is let go; it comes back and starts from a fresh snapshot. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;

export class PageEvents {
  readonly #world: World;
  readonly #responses = new Set<ServerResponse>();
  readonly #unsubscribe: () => void;
  readonly #keepAlive: NodeJS.Timeout;

  constructor(world: World) {
    this.#world = world;
    this.#unsubscribe = world.onEvent((event) => {
      if (this.#responses.size === 0) return;
      const pageEvent = findPageEvent(world, event);
      if (pageEvent) this.#write(frame(pageEvent));
    });
    this.#keepAlive = setInterval(() => this.#write(": still here\n\n"), KEEP_ALIVE_MS);
    this.#keepAlive.unref();
  }

  /** Headers are sent already. */
  add(request: IncomingMessage, response: ServerResponse): void {
    response.write(frame(hello(this.#world)));
    this.#responses.add(response);
    request.on("close", () => this.#responses.delete(response));
  }

  close(): void {
    this.#unsubscribe();
    clearInterval(this.#keepAlive);
    for (const response of this.#responses) response.destroy();
    this.#responses.clear();
  }

  #write(text: string): void {
    for (const response of this.#responses) {
      if (response.writableLength > MAX_BACKLOG_BYTES) response.destroy();
      else response.write(text);
    }
  }
}

function frame(event: PageEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

function hello(world: World): PageEvent {
  const { data } = world;
  return {
    type: "hello",
    me: data.youId,
    guildName: data.guildName,
    botName: personName(world, data.applicationId),
    channels: world
      .textChannels()
      .filter((channel) => canView(world, data.youId, channel))
      .map(seenChannel),
    users: [...data.users.values()].map((user) => ({
      id: user.id,
      name: personName(world, user.id),
      isBot: user.bot,
    })),
    roles: seenRoles(world),
    threads: world
      .threads()
      .filter((thread) => canView(world, data.youId, thread))
      .map(seenThread),
    commands: pageCommands(world),
    isBotOnline: world.passing.isBotOnline,
  };
}

function seenRoles({ data }: World): { id: Snowflake; name: string }[] {
  return [...data.roles.values()].map(({ id, name }) => ({ id, name }));
}

function seesChannel(world: World, channelId: Snowflake): boolean {
  const channel = world.findChannel(channelId);
  return channel !== undefined && canView(world, world.data.youId, channel);
}

/** What the page is told of it; nothing, if it is not for this person's eyes. */
function findPageEvent(world: World, event: WorldEvent): PageEvent | undefined {
  const you = world.data.youId;
  switch (event.type) {
    case "message-create":
    case "message-update":
    case "reaction-add":
    case "reaction-remove": {
      if (isOthers(event.message.ephemeral_for, you)) return undefined;
      const isNew = event.type === "message-create";
      return { type: "message", message: seenMessage(world, event.message), isNew };
    }
    case "message-delete":
      if (isOthers(event.message.ephemeral_for, you)) return undefined;
      return { type: "message-delete", id: event.message.id, channelId: event.message.channel_id };
    case "thread-create":
    case "thread-update":
    case "thread-members-update":
      if (!canView(world, you, event.thread)) return undefined;
      return { type: "thread", thread: seenThread(event.thread) };
    case "thread-delete":
      return { type: "thread-delete", id: event.thread.id };
    case "commands-update":
      return { type: "commands", commands: pageCommands(world) };
    case "presence":
      return { type: "presence", isBotOnline: event.isOnline };
    case "interaction-create":
    case "interaction-update":
      if (event.interaction.userId !== you || event.interaction.type === 4) return undefined;
      return { type: "interaction", interaction: seenUse(event.interaction) };
    case "channel-create":
    case "channel-update":
      if (!canView(world, you, event.channel)) return { type: "channel-delete", id: event.channel.id };
      return { type: "channel", channel: seenChannel(event.channel) };
    case "channel-delete":
      return { type: "channel-delete", id: event.channel.id };
    case "typing":
      if (event.userId === you || !seesChannel(world, event.channelId)) return undefined;
      return { type: "typing", channelId: event.channelId, userId: event.userId };
    case "role-create":
    case "role-update":
    case "role-delete":
      return { type: "roles", roles: seenRoles(world) };
    case "member-add":
    case "member-update":
    case "member-remove":
    case "thread-member-update":
      return undefined;
    default:
      return assertNever(event);
  }
}

export function seenUse(interaction: Interaction): SeenUse {
  return {
    id: interaction.id,
    channelId: interaction.channelId,
    name: interaction.type === 2 ? nameOf(interaction) : undefined,
    state: interaction.ackType !== undefined ? "acknowledged" : interaction.hasFailed ? "failed" : "waiting",
    form: interaction.modal && {
      title: String(interaction.modal["title"]),
      inputs: formInputs(interaction.modal),
    },
  };
}

function nameOf({ data }: Interaction): string {
  const name = commandName(data);
  return data["type"] === CommandType.message ? name : `/${name}`;
}

/** Commands with sub-commands are listed once for each, under their full name. */
function pageCommands(world: World): SeenCommand[] {
  const flatten = (name: string, description: string, options: CommandOption[]): SeenCommand[] => {
    const inner = options.filter((option) => option.type <= OptionType.subCommandGroup);
    if (inner.length === 0) return [{ kind: "slash", name, description, options }];
    return inner.flatMap((option) =>
      flatten(`${name} ${option.name}`, option.description, option.options ?? []),
    );
  };
  const you = world.data.youId;
  return [
    ...commandsFor(world, you).flatMap((command) =>
      flatten(command.name, command.description, command.options),
    ),
    ...commandsFor(world, you, CommandType.message).map(
      ({ name }): SeenCommand => ({ kind: "message", name, description: "", options: [] }),
    ),
  ];
}

function isOthers(ephemeralFor: Snowflake | undefined, you: Snowflake): boolean {
  return ephemeralFor !== undefined && ephemeralFor !== you;
}
