/** What the page knows: channels, people, commands, and what of it was read. */
import type { PageEvent, SeenChannel, SeenCommand, SeenMessage, SeenRole, SeenThread } from "../seen.ts";
import { compareIds } from "./dom.ts";

export type Hello = PageEvent & { type: "hello" };

export interface PageChannel {
  id: string;
  name: string;
  lastMessageId: string | null;
  isThread: boolean;
  /** The channel that a thread is in. */
  parentId?: string;
  position: number;
  isArchived: boolean;
  isLocked: boolean;
  archivedAt: number;
}

const READ_KEY = "local-discord-read";

export class PageState {
  readonly users = new Map<string, string>();
  readonly roles = new Map<string, string>();
  readonly #threads = new Map<string, PageChannel>();
  /** The newest message read, by channel. */
  readonly #read = loadRead();
  /** Unread messages that mention the person, by channel. */
  readonly #pings = new Map<string, number>();
  commands: SeenCommand[] = [];
  botName = "The bot";
  currentId: string | undefined;
  #me: string | undefined;
  readonly #channels = new Map<string, PageChannel>();

  get me(): string | undefined {
    return this.#me;
  }

  /** The text channels in their order; there is none before the first event. */
  get textChannels(): PageChannel[] {
    return [...this.#channels.values()].sort((a, b) => a.position - b.position);
  }

  get threads(): PageChannel[] {
    return [...this.#threads.values()];
  }

  get channels(): PageChannel[] {
    return [...this.textChannels, ...this.threads];
  }

  get current(): PageChannel | undefined {
    return this.currentId === undefined ? undefined : this.findChannel(this.currentId);
  }

  findChannel(id: string): PageChannel | undefined {
    return this.#channels.get(id) ?? this.#threads.get(id);
  }

  start(hello: Hello): void {
    const isFirst = this.#me === undefined;
    this.#me = hello.me;
    this.botName = hello.botName;
    this.commands = hello.commands;
    this.#channels.clear();
    for (const channel of hello.channels) this.#channels.set(channel.id, textChannel(channel));
    this.users.clear();
    for (const user of hello.users) this.users.set(user.id, user.name);
    this.setRoles(hello.roles);
    this.#threads.clear();
    for (const thread of hello.threads) this.#threads.set(thread.id, threadChannel(thread));
    // Who has never been here finds nothing unread.
    if (isFirst && this.#read.size === 0) for (const channel of this.channels) this.markRead(channel.id);
  }

  setRoles(roles: readonly SeenRole[]): void {
    this.roles.clear();
    for (const role of roles) this.roles.set(role.id, role.name);
  }

  setChannel(channel: SeenChannel): void {
    this.#channels.set(channel.id, textChannel(channel));
  }

  /** With its threads. */
  deleteChannel(id: string): void {
    this.#channels.delete(id);
    for (const thread of this.threads) if (thread.parentId === id) this.#threads.delete(thread.id);
  }

  /** @returns whether its name is new or another */
  setThread(thread: SeenThread): boolean {
    const known = this.#threads.get(thread.id);
    this.#threads.set(thread.id, threadChannel(thread));
    return known?.name !== thread.name;
  }

  deleteThread(id: string): void {
    this.#threads.delete(id);
  }

  /** Notes a new message; `isSeen`: it stands before the person's eyes. */
  noteMessage(message: SeenMessage, isSeen: boolean): void {
    const channel = this.findChannel(message.channelId);
    if (!channel || message.isEphemeral) return;
    channel.lastMessageId = message.id;
    if (message.author.id === this.#me) this.#read.set(channel.id, message.id);
    else if (this.#me !== undefined && message.notified.includes(this.#me) && !isSeen) {
      this.#pings.set(channel.id, this.pings(channel.id) + 1);
    }
  }

  pings(channelId: string): number {
    return this.#pings.get(channelId) ?? 0;
  }

  isUnread(channel: PageChannel): boolean {
    const last = channel.lastMessageId;
    return last !== null && compareIds(last, this.#read.get(channel.id) ?? "0") > 0;
  }

  markRead(channelId: string): void {
    const last = this.findChannel(channelId)?.lastMessageId;
    this.#pings.delete(channelId);
    if (!last || this.#read.get(channelId) === last) return;
    this.#read.set(channelId, last);
    try {
      localStorage.setItem(READ_KEY, JSON.stringify(Object.fromEntries(this.#read)));
    } catch {
      // There is no storage: the marks last as long as the page.
    }
  }
}

function textChannel(channel: SeenChannel): PageChannel {
  return { ...channel, isThread: false, isArchived: false, isLocked: false, archivedAt: 0 };
}

function threadChannel(thread: SeenThread): PageChannel {
  const { id, name, parentId, lastMessageId, isArchived, isLocked, archivedAt } = thread;
  const state = { isArchived, isLocked, archivedAt };
  return { id, name, parentId, lastMessageId, ...state, isThread: true, position: 0 };
}

function loadRead(): Map<string, string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(READ_KEY) ?? "{}");
    const entries = Object.entries(Object(stored)).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    );
    return new Map(entries);
  } catch {
    return new Map(); // there is no storage, or what is in it is not ours
  }
}
