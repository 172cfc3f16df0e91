/** What happens, as server-sent events: first everything there is, then every change, without a gap. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { assertNever } from "../shared/errors.ts";
import { commandsFor, type ModalInput, modalInputs } from "./person-actions.ts";
import { personName, type SeenMessage, type SeenThread, seenMessage, seenThread } from "./person-view.ts";
import type { Interaction, World, WorldEvent } from "./state.ts";
import type { CommandOption, Snowflake } from "./types.ts";
import { canView } from "./wire.ts";

const KEEP_ALIVE_MS = 20_000;
/** A page that does not read is let go; it comes back and starts from a fresh snapshot. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;

export type PageCommand = { name: string; description: string; options: CommandOption[] };

export type PageInteraction = {
  id: Snowflake;
  channelId: Snowflake;
  /** The command used, or nothing for a button. */
  name: string | undefined;
  state: "waiting" | "acknowledged" | "failed";
  form: { title: string; inputs: ModalInput[] } | undefined;
};

export type PageEvent =
  | {
      type: "hello";
      me: Snowflake;
      guildName: string;
      botName: string;
      channel: { id: Snowflake; name: string; lastMessageId: Snowflake | null };
      users: { id: Snowflake; name: string; isBot: boolean }[];
      threads: SeenThread[];
      commands: PageCommand[];
      isBotOnline: boolean;
    }
  | { type: "message"; message: SeenMessage; isNew: boolean }
  | { type: "message-delete"; id: Snowflake; channelId: Snowflake }
  | { type: "thread"; thread: SeenThread }
  | { type: "thread-delete"; id: Snowflake }
  | { type: "commands"; commands: PageCommand[] }
  | { type: "presence"; isBotOnline: boolean }
  | { type: "typing"; channelId: Snowflake; name: string }
  | { type: "interaction"; interaction: PageInteraction };

export class PageEvents {
  readonly #world: World;
  readonly #responses = new Set<ServerResponse>();
  readonly #unsubscribe: () => void;
  readonly #keepAlive: NodeJS.Timeout;

  constructor(world: World) {
    this.#world = world;
    this.#unsubscribe = world.onEvent((event) => {
      if (this.#responses.size === 0) return;
      for (const pageEvent of pageEventsOf(world, event)) this.#send(pageEvent);
    });
    this.#keepAlive = setInterval(() => this.#write(": still here\n\n"), KEEP_ALIVE_MS);
    this.#keepAlive.unref();
  }

  /** Headers are sent already. */
  add(request: IncomingMessage, response: ServerResponse): void {
    response.write(`retry: 1000\n\n${frame(hello(this.#world))}`);
    this.#responses.add(response);
    request.on("close", () => this.#responses.delete(response));
  }

  close(): void {
    this.#unsubscribe();
    clearInterval(this.#keepAlive);
    for (const response of this.#responses) response.destroy();
    this.#responses.clear();
  }

  #send(event: PageEvent): void {
    this.#write(frame(event));
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
  const channel = world.getChannel(data.channelId);
  return {
    type: "hello",
    me: data.youId,
    guildName: data.guildName,
    botName: personName(world, data.applicationId),
    channel: { id: channel.id, name: channel.name, lastMessageId: channel.last_message_id },
    users: [...data.users.values()].map((user) => ({
      id: user.id,
      name: personName(world, user.id),
      isBot: user.bot,
    })),
    threads: world
      .threads()
      .filter((thread) => canView(world, data.youId, thread))
      .map(seenThread),
    commands: pageCommands(world),
    isBotOnline: world.isBotOnline,
  };
}

function pageEventsOf(world: World, event: WorldEvent): PageEvent[] {
  const you = world.data.youId;
  switch (event.type) {
    case "message-create":
    case "message-update": {
      if (isOthers(event.message.ephemeral_for, you)) return [];
      return [
        {
          type: "message",
          message: seenMessage(world, event.message),
          isNew: event.type === "message-create",
        },
      ];
    }
    case "reaction-add":
    case "reaction-remove":
      return [{ type: "message", message: seenMessage(world, event.message), isNew: false }];
    case "message-delete":
      if (isOthers(event.message.ephemeral_for, you)) return [];
      return [{ type: "message-delete", id: event.message.id, channelId: event.message.channel_id }];
    case "thread-create":
    case "thread-update":
    case "thread-members-update":
      if (!canView(world, you, event.thread)) return [];
      return [{ type: "thread", thread: seenThread(event.thread) }];
    case "thread-delete":
      return [{ type: "thread-delete", id: event.thread.id }];
    case "commands-update":
      return [{ type: "commands", commands: pageCommands(world) }];
    case "presence":
      return [{ type: "presence", isBotOnline: event.isOnline }];
    case "typing":
      return [{ type: "typing", channelId: event.channelId, name: personName(world, event.userId) }];
    case "interaction-create":
    case "interaction-update":
      if (event.interaction.userId !== you || event.interaction.type === 4) return [];
      return [{ type: "interaction", interaction: pageInteraction(event.interaction) }];
    case "thread-member-update":
    case "channel-update":
      return [];
    default:
      return assertNever(event);
  }
}

export function pageInteraction(interaction: Interaction): PageInteraction {
  const name = interaction.type === 2 ? interaction.data["name"] : undefined;
  return {
    id: interaction.id,
    channelId: interaction.channelId,
    name: typeof name === "string" ? name : undefined,
    state: interaction.ackType !== undefined ? "acknowledged" : interaction.hasFailed ? "failed" : "waiting",
    form: interaction.modal && {
      title: String(interaction.modal["title"]),
      inputs: modalInputs(interaction.modal),
    },
  };
}

/** Commands with sub-commands are listed once for each, under their full name. */
function pageCommands(world: World): PageCommand[] {
  const flatten = (name: string, description: string, options: CommandOption[]): PageCommand[] => {
    const inner = options.filter((option) => option.type === 1 || option.type === 2);
    if (inner.length === 0) return [{ name, description, options }];
    return inner.flatMap((option) =>
      flatten(`${name} ${option.name}`, option.description, option.options ?? []),
    );
  };
  return commandsFor(world, world.data.youId).flatMap((command) =>
    flatten(command.name, command.description, command.options),
  );
}

function isOthers(ephemeralFor: Snowflake | undefined, you: Snowflake): boolean {
  return ephemeralFor !== undefined && ephemeralFor !== you;
}
