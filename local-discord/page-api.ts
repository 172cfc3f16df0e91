/** What the page can do, as the one person it acts for. */
import * as z from "zod";
import { createChannel } from "./channels.ts";
import type { Interaction } from "./interaction-store.ts";
import { deleteMessage, editMessage, sendMessage } from "./messages.ts";
import { type OptionValues, PersonError } from "./option-values.ts";
import { seenUse } from "./page-events.ts";
import { askAutocomplete, runCommand, runMessageCommand } from "./person-commands.ts";
import { operateComponent, submitModal } from "./person-components.ts";
import { seenChannel, seenMessage, seenMessages } from "./person-view.ts";
import { addReaction, removeReaction } from "./reactions.ts";
import type { SeenChannel, SeenMessage, SeenUse } from "./seen.ts";
import { compareIds } from "./snowflake.ts";
import type { World } from "./state.ts";
import { deleteThread, patchThread } from "./threads.ts";
import { isThread, type Snowflake, type Thread, type UploadedFile } from "./types.ts";
import { channelPatchSchema, messageCreateSchema, messageEditSchema, parseBody } from "./validate.ts";
import { canView } from "./wire.ts";

type Action = (body: unknown, files: readonly UploadedFile[], signal: AbortSignal) => unknown;

const PAGE_SIZE = 50;

const id = z.string();
const optionValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const schemas = {
  send: z.object({ channelId: id, content: z.string().default(""), replyTo: id.nullish() }),
  message: z.object({ channelId: id, messageId: id }),
  edit: z.object({ channelId: id, messageId: id, content: z.string() }),
  reaction: z.object({ channelId: id, messageId: id, emoji: z.string(), isAdded: z.boolean() }),
  channel: z.object({ name: z.string().trim().min(1).max(100) }),
  thread: z.object({
    threadId: id,
    action: z.enum(["archive", "unarchive", "lock", "unlock", "rename", "delete"]),
    name: z.string().optional(),
  }),
  messageCommand: z.object({ channelId: id, messageId: id, name: z.string() }),
  command: z.object({ channelId: id, name: z.string(), options: optionValues.default({}) }),
  autocomplete: z.object({ channelId: id, name: z.string(), options: optionValues, focused: z.string() }),
  component: z.object({ messageId: id, customId: z.string(), values: z.array(z.string()).optional() }),
  form: z.object({ interactionId: id, values: z.record(z.string(), z.string()) }),
};

export class PageApi {
  readonly #world: World;
  /** By path; each answers JSON. @throws PersonError, DiscordError */
  readonly actions: Record<string, Action>;

  constructor(world: World) {
    this.#world = world;
    this.actions = {
      "/page/messages": (body, files) => this.#send(body, files),
      "/page/messages/delete": (body) => this.#delete(body),
      "/page/messages/edit": (body) => this.#edit(body),
      "/page/reactions": (body) => this.#react(body),
      "/page/message-commands": (body) => this.#messageCommand(body),
      "/page/channels": (body) => this.#makeChannel(body),
      "/page/threads": (body) => this.#changeThread(body),
      "/page/commands": (body, files) => this.#command(body, files),
      "/page/autocomplete": (body, _files, signal) => this.#autocomplete(body, signal),
      "/page/components": (body) => this.#component(body),
      "/page/forms": (body) => this.#form(body),
    };
  }

  /** The newest messages, or those before an id, oldest first. */
  messages(query: URLSearchParams): { messages: SeenMessage[]; hasMore: boolean } {
    const channelId = query.get("channel") ?? "";
    const before = query.get("before");
    const channel = this.#world.getChannel(channelId);
    if (!canView(this.#world, this.#you, channel)) throw new PersonError("There is no such channel.");
    const all = seenMessages(this.#world, channelId, this.#you).filter(
      (message) => before === null || compareIds(message.id, before) < 0,
    );
    return { messages: all.slice(-PAGE_SIZE), hasMore: all.length > PAGE_SIZE };
  }

  get #you(): Snowflake {
    return this.#world.data.youId;
  }

  #send(body: unknown, files: readonly UploadedFile[]): SeenMessage {
    const { channelId, content, replyTo } = parseBody(schemas.send, body);
    const message = sendMessage(this.#world, {
      userId: this.#you,
      channel: this.#world.getChannel(channelId),
      input: parseBody(messageCreateSchema, {
        content,
        ...(replyTo == null ? {} : { message_reference: { message_id: replyTo } }),
      }),
      files,
    });
    return seenMessage(this.#world, message);
  }

  /** Also dismisses what only this person sees. */
  #delete(body: unknown): void {
    const { channelId, messageId } = parseBody(schemas.message, body);
    const own = this.#world.passing.ephemerals.get(messageId);
    if (own?.ephemeral_for === this.#you) {
      this.#world.passing.dropEphemeral(messageId);
      return;
    }
    deleteMessage(this.#world, this.#world.getMessage(channelId, messageId), this.#you);
  }

  #edit(body: unknown): void {
    const { channelId, messageId, content } = parseBody(schemas.edit, body);
    const message = this.#world.getMessage(channelId, messageId);
    if (message.author_id !== this.#you) throw new PersonError("You can edit only what you wrote.");
    editMessage(this.#world, message, {
      userId: this.#you,
      patch: parseBody(messageEditSchema, { content }),
      files: [],
    });
  }

  #react(body: unknown): void {
    const { channelId, messageId, emoji, isAdded } = parseBody(schemas.reaction, body);
    const change = isAdded ? addReaction : removeReaction;
    change(this.#world, this.#world.getMessage(channelId, messageId), this.#you, emoji);
  }

  #messageCommand(body: unknown): SeenUse {
    const use = parseBody(schemas.messageCommand, body);
    return seenUse(runMessageCommand(this.#world, { userId: this.#you, ...use }));
  }

  #makeChannel(body: unknown): SeenChannel {
    return seenChannel(createChannel(this.#world, parseBody(schemas.channel, body).name));
  }

  #changeThread(body: unknown): void {
    const { threadId, action, name } = parseBody(schemas.thread, body);
    const thread = this.#world.getChannel(threadId);
    if (!isThread(thread)) throw new PersonError("That is no thread.");
    if (action === "delete") deleteThread(this.#world, thread, this.#you);
    else if (action === "rename") {
      patchThread(this.#world, thread, this.#you, parseBody(channelPatchSchema, { name: name ?? "" }));
    } else patchThread(this.#world, thread, this.#you, threadPatch(thread, action));
  }

  #command(body: unknown, files: readonly UploadedFile[]): SeenUse {
    const { channelId, name, options } = parseBody(schemas.command, body);
    const values: OptionValues = { ...options };
    for (const file of files) values[file.field] = file;
    return seenUse(runCommand(this.#world, { userId: this.#you, channelId, name, options: values }));
  }

  /** Waits for the bot, at most the three seconds that it has. */
  async #autocomplete(body: unknown, signal: AbortSignal): Promise<{ choices: Interaction["choices"] }> {
    const use = parseBody(schemas.autocomplete, body);
    const interaction = askAutocomplete(this.#world, { userId: this.#you, ...use });
    await new Promise<void>((resolve) => {
      const unsubscribe = this.#world.onEvent((event) => {
        if (event.type === "interaction-update" && event.interaction === interaction) finish();
      });
      const finish = () => {
        clearTimeout(deadline);
        unsubscribe();
        signal.removeEventListener("abort", finish);
        resolve();
      };
      const deadline = setTimeout(finish, this.#world.limits.interactionAckMs + 500);
      signal.addEventListener("abort", finish, { once: true });
    });
    if (!interaction.choices) throw new PersonError("Loading options failed");
    return { choices: interaction.choices };
  }

  #component(body: unknown): SeenUse {
    const { messageId, customId, values } = parseBody(schemas.component, body);
    return seenUse(
      operateComponent(this.#world, {
        userId: this.#you,
        messageId,
        customId,
        ...(values === undefined ? {} : { values }),
      }),
    );
  }

  #form(body: unknown): SeenUse {
    const { interactionId, values } = parseBody(schemas.form, body);
    const interaction = this.#world.interactions.find(interactionId);
    if (interaction?.userId !== this.#you) throw new PersonError("There is no form to send.");
    return seenUse(submitModal(this.#world, interaction, values));
  }
}

function threadPatch(thread: Thread, action: "archive" | "unarchive" | "lock" | "unlock") {
  const { archived } = thread.thread_metadata;
  switch (action) {
    case "archive":
      return { archived: true };
    case "unarchive":
      return { archived: false };
    case "lock":
      return { locked: true, ...(archived ? {} : { archived: true }) };
    case "unlock":
      return { locked: false, archived: false };
  }
}
