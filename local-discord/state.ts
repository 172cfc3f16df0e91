/** The world that local Discord keeps, and the events that tell gateway, page and tests what changed. */
import { randomBytes } from "node:crypto";
import { refuse } from "./discord-error.ts";
import type { FileStore } from "./file-store.ts";
import { type Interaction, Interactions } from "./interaction-store.ts";
import { Listeners } from "./listeners.ts";
import { Passing } from "./passing.ts";
import { BOT_PERMISSIONS, computePermissions, EVERYONE_PERMISSIONS, withoutSending } from "./permissions.ts";
import type { Limits } from "./rate-limits.ts";
import { nextSnowflake } from "./snowflake.ts";
import {
  type Channel,
  type Command,
  isThread,
  type Member,
  type Message,
  type Overwrite,
  type Role,
  type Snowflake,
  type TextChannel,
  type Thread,
  textChannel,
  type User,
} from "./types.ts";

/** Everything that survives a restart; `store.ts` writes it as JSON. */
export type WorldData = {
  botToken: string;
  applicationId: Snowflake;
  guildId: Snowflake;
  guildName: string;
  ownerId: Snowflake;
  /** The channel that the relay is told to use: the first. */
  channelId: Snowflake;
  /** The person whom the page acts as. */
  youId: Snowflake;
  lastId: Snowflake;
  users: Map<Snowflake, User>;
  members: Map<Snowflake, Member>;
  roles: Map<Snowflake, Role>;
  channels: Map<Snowflake, Channel>;
  messages: Map<Snowflake, Map<Snowflake, Message>>;
  commands: Map<Snowflake, Command>;
  /** `author nonce` → what it made, for `enforce_nonce`. */
  nonces: Map<string, { messageId: Snowflake; channelId: Snowflake; at: number }>;
};

export type WorldEvent =
  | { type: "message-create" | "message-update"; message: Message }
  | { type: "message-delete"; message: Message }
  | { type: "thread-create"; thread: Thread; isNew: boolean }
  | { type: "thread-update" | "thread-delete"; thread: Thread }
  | { type: "thread-member-update"; thread: Thread; userId: Snowflake }
  | { type: "thread-members-update"; thread: Thread; added: Snowflake[]; removed: Snowflake[] }
  | { type: "role-create" | "role-update" | "role-delete"; role: Role }
  | { type: "member-add" | "member-update" | "member-remove"; userId: Snowflake }
  | { type: "typing"; channelId: Snowflake; userId: Snowflake }
  | { type: "channel-create" | "channel-update" | "channel-delete"; channel: TextChannel }
  | {
      type: "reaction-add" | "reaction-remove";
      message: Message;
      userId: Snowflake;
      emoji: { id: string | null; name: string };
    }
  | { type: "commands-update" }
  | { type: "presence"; isOnline: boolean }
  | { type: "interaction-create" | "interaction-update"; interaction: Interaction };

/** What the owner of the bot has switched on in the developer portal, and what tests take away. */
export type Switches = { isMessageContentGranted: boolean };

export class World {
  /** `http://host:port`; attachment links start with it. */
  readonly origin: string;
  readonly data: WorldData;
  readonly now: () => number;
  readonly limits: Limits;
  readonly files: FileStore;
  readonly switches: Switches = { isMessageContentGranted: true };
  readonly interactions = new Interactions();
  readonly passing = new Passing();
  readonly cdnSecret = randomBytes(32);
  #rev = 0;
  readonly #events = new Listeners<WorldEvent>();
  readonly #changes = new Listeners<void>();

  constructor(options: {
    origin: string;
    data: WorldData;
    now: () => number;
    limits: Limits;
    files: FileStore;
  }) {
    this.origin = options.origin;
    this.data = options.data;
    this.now = options.now;
    this.limits = options.limits;
    this.files = options.files;
  }

  nextId(): Snowflake {
    const id = nextSnowflake(this.now(), this.data.lastId);
    this.data.lastId = id;
    return id;
  }

  nextRev(): number {
    this.#rev += 1;
    return this.#rev;
  }

  isoNow(): string {
    return new Date(this.now()).toISOString().replace("Z", "000+00:00");
  }

  /** Tells everybody, at once and in order; an event is out before the call that caused it returns. */
  emit(event: WorldEvent): void {
    this.#events.tell(event);
    this.changed();
  }

  /** For a change without an event; the state file follows. */
  changed(): void {
    this.#changes.tell();
  }

  onEvent(listener: (event: WorldEvent) => void): () => void {
    return this.#events.add(listener);
  }

  onChange(listener: () => void): () => void {
    return this.#changes.add(listener);
  }

  findChannel(id: Snowflake): Channel | undefined {
    return this.data.channels.get(id);
  }

  /** @throws DiscordError 10003 */
  getChannel(id: Snowflake): Channel {
    const channel = this.findChannel(id);
    if (!channel) throw refuse(10003);
    return channel;
  }

  getUser(id: Snowflake): User {
    const user = this.data.users.get(id);
    if (!user) throw refuse(10013);
    return user;
  }

  findMessage(channelId: Snowflake, messageId: Snowflake): Message | undefined {
    return this.data.messages.get(channelId)?.get(messageId);
  }

  /** @throws DiscordError 10008 */
  getMessage(channelId: Snowflake, messageId: Snowflake): Message {
    const message = this.findMessage(channelId, messageId);
    if (!message) throw refuse(10008);
    return message;
  }

  messagesOf(channelId: Snowflake): Map<Snowflake, Message> {
    let messages = this.data.messages.get(channelId);
    if (!messages) {
      messages = new Map();
      this.data.messages.set(channelId, messages);
    }
    return messages;
  }

  threads(): Thread[] {
    return [...this.data.channels.values()].filter(isThread);
  }

  /** In the order in which they are shown. */
  textChannels(): TextChannel[] {
    return [...this.data.channels.values()]
      .filter((channel): channel is TextChannel => !isThread(channel))
      .sort((a, b) => a.position - b.position);
  }

  /** Threads have no overwrites of their own: the parent's count. */
  permissions(userId: Snowflake, channel: Channel): bigint {
    const holder = isThread(channel) ? this.findChannel(channel.parent_id) : channel;
    const overwrites = holder && !isThread(holder) ? holder.permission_overwrites : [];
    const computed = this.serverPermissions(userId, overwrites);
    return isThread(channel) ? computed : withoutSending(computed);
  }

  /** What a member may do in the server, if no channel says otherwise. */
  serverPermissions(userId: Snowflake, overwrites: readonly Overwrite[] = []): bigint {
    const member = this.data.members.get(userId);
    if (!member) return 0n;
    return computePermissions({
      guildId: this.data.guildId,
      ownerId: this.data.ownerId,
      userId,
      roleIds: member.roles,
      roles: [...this.data.roles.values()],
      overwrites,
    });
  }
}

/** A fresh guild: a text channel, the bot with its role, "you" as the owner, and whoever else is named. */
export function createWorldData(options: {
  now: number;
  users?: readonly { id?: Snowflake; name: string }[];
}): WorldData {
  let last: Snowflake | undefined;
  const id = (): Snowflake => {
    last = nextSnowflake(options.now - 60_000, last);
    return last;
  };
  const applicationId = id();
  const guildId = id();
  const botRoleId = id();
  const channelId = id();
  const youId = id();
  const joined = new Date(options.now).toISOString();

  const users = new Map<Snowflake, User>();
  const members = new Map<Snowflake, Member>();
  const join = (user: User, roles: Snowflake[]) => {
    users.set(user.id, user);
    members.set(user.id, { user_id: user.id, roles, joined_at: joined });
  };
  join({ id: applicationId, username: "threadmux", global_name: null, bot: true }, [botRoleId]);
  join({ id: youId, username: "you", global_name: "You", bot: false }, []);
  for (const extra of options.users ?? []) {
    join({ id: extra.id ?? id(), username: extra.name, global_name: extra.name, bot: false }, []);
  }
  return {
    botToken: makeBotToken(applicationId),
    applicationId,
    guildId,
    guildName: "Local Discord",
    ownerId: youId,
    channelId,
    youId,
    lastId: last ?? channelId,
    users,
    members,
    roles: new Map([
      [guildId, { id: guildId, name: "@everyone", permissions: String(EVERYONE_PERMISSIONS), position: 0 }],
      [
        botRoleId,
        {
          id: botRoleId,
          name: "threadmux",
          permissions: String(BOT_PERMISSIONS),
          position: 1,
          isManaged: true,
        },
      ],
    ]),
    channels: new Map([[channelId, textChannel(channelId, "terminals", 0)]]),
    messages: new Map(),
    commands: new Map(),
    nonces: new Map(),
  };
}

/** Looks like Discord's: the id in base64, a stamp, the secret. */
export function makeBotToken(applicationId: Snowflake): string {
  const head = Buffer.from(applicationId).toString("base64url");
  return `${head}.${randomBytes(4).toString("base64url")}.${randomBytes(32).toString("base64url")}`;
}
