/** Real discord.js, unchanged, against local Discord: what a relay bot does from login to archive. */
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  ChannelType,
  type ChatInputCommandInteraction,
  Client,
  Events,
  GatewayIntentBits,
  type Interaction,
  MessageFlags,
  type TextChannel,
  type ThreadChannel,
} from "discord.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Releasers } from "../shared/lifecycle.ts";
import { type LocalDiscord, type LocalDiscordOptions, runLocalDiscord } from "./run.ts";

const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.MessageContent,
  GatewayIntentBits.GuildMessageReactions,
];

let releasers: Releasers;
beforeEach(() => {
  releasers = new Releasers();
});
afterEach(() => releasers.close());

async function start(
  options: LocalDiscordOptions = {},
): Promise<{ discord: LocalDiscord; client: Client<true> }> {
  const discord = await runLocalDiscord({ users: [{ name: "Robin" }], ...options });
  releasers.add("local Discord", () => discord.close());
  const client = await login(discord);
  return { discord, client };
}

async function login(discord: LocalDiscord, intents = INTENTS): Promise<Client<true>> {
  const client = new Client({
    intents,
    rest: { api: discord.apiUrl },
    enforceNonce: true,
    allowedMentions: { parse: [], repliedUser: false },
  });
  releasers.add("client", () => client.destroy());
  client.on(Events.Error, () => undefined);
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(discord.botToken);
  return ready;
}

function onCommand(
  client: Client,
  handle: (interaction: ChatInputCommandInteraction) => Promise<void>,
): void {
  client.on(Events.InteractionCreate, (interaction: Interaction) => {
    if (interaction.isChatInputCommand()) void handle(interaction);
  });
}

async function getChannel(client: Client, discord: LocalDiscord): Promise<TextChannel> {
  const channel = await client.channels.fetch(discord.channelId);
  if (channel?.type !== ChannelType.GuildText) throw new Error("no text channel");
  return channel;
}

async function makeThread(client: Client, discord: LocalDiscord, name = "a thread"): Promise<ThreadChannel> {
  const channel = await getChannel(client, discord);
  return channel.threads.create({ name, type: ChannelType.PublicThread, autoArchiveDuration: 1440 });
}

const TERMINAL = {
  name: "terminal",
  description: "Open a terminal",
  options: [
    { type: 3, name: "dir", description: "Directory", required: true, autocomplete: true },
    { type: 3, name: "command", description: "Command", required: true },
  ],
};

describe("discord.js against local Discord", () => {
  it("logs in, sees the guild and its channel", async () => {
    const { discord, client } = await start();
    expect(client.user.id).toBe(discord.applicationId);
    const guild = client.guilds.cache.get(discord.guildId);
    expect(guild?.available).toBe(true);
    expect(guild?.members.me?.permissions.has("ManageThreads")).toBe(true);
    expect(guild?.channels.cache.get(discord.channelId)?.name).toBe("terminals");
    expect(discord.driver.isBotOnline).toBe(true);
  });

  it("registers commands and answers one: defer, edit, follow-up", async () => {
    const { discord, client } = await start();
    await client.application.commands.set([TERMINAL], discord.guildId);
    onCommand(client, async (interaction) => {
      await interaction.deferReply();
      await interaction.editReply(`dir ${interaction.options.getString("dir", true)}`);
      await interaction.followUp({ content: "only you", flags: MessageFlags.Ephemeral });
    });
    const { driver, you, channelId } = discord;
    const use = driver.command(you.id, channelId, "terminal", { dir: "app", command: "ls" });
    const reply = await use.reply();
    expect(reply.content).toBe("dir app");
    expect(reply.editedAt).toBeNull();
    expect(reply.interaction).toEqual({ user: "You", name: "terminal", kind: "slash command" });
    await driver.until(() => use.followUps().length === 1, { what: "the follow-up" });
    expect(driver.ephemerals(you.id).map((message) => message.content)).toEqual(["only you"]);
    expect(driver.messages(channelId).map((message) => message.content)).toEqual(["dir app"]);
  });

  it("completes options as they are typed", async () => {
    const { discord, client } = await start();
    await client.application.commands.set([TERMINAL], discord.guildId);
    client.on(Events.InteractionCreate, (interaction) => {
      if (!interaction.isAutocomplete()) return;
      const focused = interaction.options.getFocused(true);
      void interaction.respond([{ name: `${focused.name}:${focused.value}`, value: "app" }]);
    });
    const { driver, you, channelId } = discord;
    const choices = await driver.autocomplete(you.id, channelId, "terminal", { dir: "ap" }, "dir");
    expect(choices).toEqual([{ name: "dir:ap", value: "app" }]);
  });

  it("makes a thread, writes, edits, uploads, reacts, archives", async () => {
    const { discord, client } = await start();
    const thread = await makeThread(client, discord, "🖥 app — ls");
    const sent = await thread.send("first");
    await sent.edit("second");
    await thread.send({ content: "log", files: [{ attachment: Buffer.from("hello"), name: "out.txt" }] });
    await sent.react("✅");
    const { driver } = discord;
    const seen = driver.messages(thread.id);
    expect(seen.map((message) => message.content)).toEqual(["second", "log"]);
    expect(seen[0]?.editedAt).not.toBeNull();
    expect(seen[0]?.reactions).toEqual([{ emoji: "✅", users: [discord.applicationId] }]);
    const file = seen[1]?.attachments[0];
    expect(file).toMatchObject({ name: "out.txt", size: 5 });
    expect(driver.attachment(file?.id ?? "").toString()).toBe("hello");
    const url = (await thread.messages.fetch({ limit: 1 })).first()?.attachments.first()?.url ?? "";
    expect(await (await fetch(url)).text()).toBe("hello");
    const forged = url.replace(/hm=(.)/, (_, first: string) => `hm=${first === "0" ? "1" : "0"}`);
    expect((await fetch(forged)).status).toBe(404);

    await thread.setArchived(true);
    expect(driver.threads({ archived: true }).map((entry) => entry.name)).toEqual(["🖥 app — ls"]);
    const channel = await getChannel(client, discord);
    expect((await channel.threads.fetchArchived()).threads.map((entry) => entry.id)).toEqual([thread.id]);
    expect((await channel.threads.fetchActive()).threads.size).toBe(0);
  });

  it("hears what people write, also in a thread that their message brings back", async () => {
    const { discord, client } = await start();
    const thread = await makeThread(client, discord);
    const heard: string[] = [];
    client.on(Events.MessageCreate, (message) => {
      if (!message.author.bot) heard.push(`${message.author.displayName}: ${message.content}`);
    });
    const { driver, you } = discord;
    driver.post(you.id, thread.id, "one");
    await thread.setArchived(true);
    driver.post(discord.users[1]?.id ?? "", thread.id, "two");
    await driver.until(() => heard.length === 2, { what: "both messages" });
    expect(heard).toEqual(["You: one", "Robin: two"]);
    expect(driver.findThread(thread.id)?.isArchived).toBe(false);
  });

  it("has its buttons pressed", async () => {
    const { discord, client } = await start();
    const channel = await getChannel(client, discord);
    client.on(Events.InteractionCreate, (interaction) => {
      if (interaction.isButton()) void interaction.update({ content: "pressed", components: [] });
    });
    const button = new ButtonBuilder().setCustomId("stop").setLabel("Stop").setStyle(ButtonStyle.Danger);
    const message = await channel.send({
      content: "running",
      components: [new ActionRowBuilder<ButtonBuilder>().addComponents(button)],
    });
    const { driver, you } = discord;
    expect(driver.messages(channel.id)[0]?.buttons[0]?.label).toBe("Stop");
    expect((await driver.press(you.id, message.id, "stop").reply()).content).toBe("pressed");
    expect(driver.messages(channel.id)[0]?.buttons).toEqual([]);
  });

  it("fills in a form", async () => {
    const { discord, client } = await start();
    await client.application.commands.set([{ name: "ask", description: "Ask" }], discord.guildId);
    client.on(Events.InteractionCreate, (interaction) => {
      if (interaction.isChatInputCommand()) {
        void interaction.showModal({
          customId: "form",
          title: "Form",
          components: [{ type: 1, components: [{ type: 4, customId: "name", label: "Name", style: 1 }] }],
        });
      }
      if (interaction.isModalSubmit()) {
        void interaction.reply({
          content: `hello ${interaction.fields.getTextInputValue("name")}`,
          flags: 64,
        });
      }
    });
    const { driver, you, channelId } = discord;
    const use = driver.command(you.id, channelId, "ask");
    const form = await driver.until(() => use.form(), { what: "the form" });
    expect(form).toMatchObject({ title: "Form", inputs: [{ customId: "name", label: "Name" }] });
    const reply = await use.submit({ name: "Ada" }).reply();
    expect(reply).toMatchObject({ content: "hello Ada", isEphemeral: true });
  });

  it("is never limited when it sends and edits as fast as discord.js lets it", async () => {
    const { discord, client } = await start();
    const thread = await makeThread(client, discord);
    const message = await thread.send("0");
    const edits = async () => {
      for (let count = 1; count <= 7; count += 1) await message.edit(String(count));
    };
    await Promise.all([edits(), ...Array.from({ length: 5 }, (_, index) => thread.send(`m${index}`))]);
    expect(discord.driver.stats.rateLimited).toBe(0);
    expect(discord.driver.messages(thread.id)[0]?.content).toBe("7");
  });
});
