/** The slash commands: their shapes, and what each does. */
import {
  type AutocompleteInteraction,
  type ChatInputCommandInteraction,
  MessageFlags,
  type RESTPostAPIChatInputApplicationCommandsJSONBody,
  SlashCommandBuilder,
} from "discord.js";
import { AppError } from "../../shared/errors.ts";
import { exportLog } from "../content/export.ts";
import type { Screenshots } from "../screenshot/screenshot.ts";
import { directoryChoice, killedText, statusText, threadName } from "../texts.ts";
import type { Beginnings } from "../threads/beginnings.ts";
import type { Endings } from "../threads/endings.ts";
import type { Threads } from "../threads/threads.ts";
import type { Vm, VmThread } from "../threads/vm.ts";
import { completeKey, toTmuxKey } from "./keys.ts";

/** Discord shows at most 25 choices of at most 100 characters. */
const MAX_CHOICES = 25;
const MAX_CHOICE_CHARACTERS = 100;
const MAX_MESSAGE_CHARACTERS = 1_900;
const MAX_OPTION_CHARACTERS = 6_000;
/** Discord's own limit may be higher in a boosted server; memory is the relay's. */
const MAX_EXPORT_BYTES = 25 * 1024 * 1024;
/** An answer is taken for 15 minutes. */
const EXPORT_TIMEOUT_MS = 10 * 60_000;

export interface CommandContext {
  vm: Vm;
  threads: Threads;
  beginnings: Beginnings;
  endings: Endings;
  screenshots: Screenshots;
  allowedUserIds: ReadonlySet<string>;
  now: () => number;
}

interface Command {
  definition: RESTPostAPIChatInputApplicationCommandsJSONBody;
  /** Whether only the person who asked sees the answer. */
  isPrivate: boolean;
  run: (interaction: ChatInputCommandInteraction, context: CommandContext) => Promise<void>;
}

const dirOption = (description: string) => (option: import("discord.js").SlashCommandStringOption) =>
  option.setName("dir").setDescription(description).setRequired(true).setAutocomplete(true);

const terminal: Command = {
  definition: new SlashCommandBuilder()
    .setName("terminal")
    .setDescription("Run a command on the VM in a thread of its own")
    .addStringOption(dirOption("Directory to run it in, below the repositories' folder"))
    .addStringOption((option) =>
      option
        .setName("command")
        .setDescription("Shell command line, such as: npm run dev")
        .setRequired(true)
        .setMaxLength(MAX_OPTION_CHARACTERS),
    )
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { beginnings, now }) => {
    const command = interaction.options.getString("command", true);
    const dir = interaction.options.getString("dir", true);
    const threadId = await beginnings.create(
      { type: "terminal", dir, command, userId: interaction.user.id },
      tellWait(interaction, now),
    );
    await interaction.editReply(`🖥 Running in <#${threadId}>`);
  },
};

const agent: Command = {
  definition: new SlashCommandBuilder()
    .setName("agent")
    .setDescription("Give a coding agent a task, in a thread of its own")
    .addStringOption(dirOption("Directory to work in, below the repositories' folder"))
    .addStringOption((option) =>
      option
        .setName("prompt")
        .setDescription("What the agent is to do")
        .setRequired(true)
        .setMaxLength(MAX_OPTION_CHARACTERS),
    )
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { beginnings, now }) => {
    const prompt = interaction.options.getString("prompt", true);
    const dir = interaction.options.getString("dir", true);
    const threadId = await beginnings.create(
      { type: "agent", dir, command: prompt, userId: interaction.user.id },
      tellWait(interaction, now),
    );
    await interaction.editReply(`🤖 At work in <#${threadId}>`);
  },
};

const done: Command = {
  definition: new SlashCommandBuilder()
    .setName("done")
    .setDescription("End this thread's session and archive the thread")
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { threads, endings }) => {
    const { threadId } = threadHere(interaction, threads);
    const { reply, archive } = await endings.kill(threadId);
    // The answer must be there before the thread is archived: Discord takes none after it.
    await interaction.editReply(killedText(reply));
    await archive();
  },
};

const kill: Command = {
  definition: new SlashCommandBuilder()
    .setName("kill")
    .setDescription("End a session from anywhere and archive its thread")
    .addStringOption((option) =>
      option.setName("thread").setDescription("Which one").setRequired(true).setAutocomplete(true),
    )
    .toJSON(),
  isPrivate: false,
  run: async (interaction, context) => {
    const { threads, endings } = context;
    // A mention is what people paste; the choices give the id itself.
    const threadId = interaction.options.getString("thread", true).replace(/^<#(\d+)>$/, "$1");
    if (!threads.has(threadId)) {
      throw new AppError("not_found", "thread: no open session has that thread; pick one of the list.");
    }
    if (threadId === interaction.channelId) return done.run(interaction, context);
    const reply = await endings.killAndTell(threadId);
    const code = reply.exitCode === null ? "" : ` Exit code ${reply.exitCode}.`;
    await interaction.editReply(`⏹ Ended <#${threadId}>.${code}`);
  },
};

const status: Command = {
  definition: new SlashCommandBuilder().setName("status").setDescription("List the open sessions").toJSON(),
  isPrivate: true,
  run: async (interaction, { vm, threads, now }) => {
    const open = await vm.listThreads();
    if (open.length === 0) {
      await interaction.editReply("No session is open. Start one with /terminal or /agent.");
      return;
    }
    const branches = await findBranches(vm, [...new Set(open.map((thread) => thread.dir))]);
    const blocks = open.map((thread) => {
      const paused = threads.find(thread.threadId)?.paused;
      return statusText(thread, { branch: branches.get(thread.dir), paused, now: now() });
    });
    const [first = "", ...others] = joinBlocks(blocks, MAX_MESSAGE_CHARACTERS);
    await interaction.editReply(first);
    for (const content of others) await interaction.followUp({ content, flags: MessageFlags.Ephemeral });
  },
};

const key: Command = {
  definition: new SlashCommandBuilder()
    .setName("key")
    .setDescription("Press a key in this thread's terminal")
    .addStringOption((option) =>
      option
        .setName("name")
        .setDescription("Such as ctrl-c, tab, up, escape")
        .setRequired(true)
        .setAutocomplete(true),
    )
    .toJSON(),
  isPrivate: true,
  run: async (interaction, { threads }) => {
    const thread = threadHere(interaction, threads);
    const name = interaction.options.getString("name", true);
    await thread.send({ key: toTmuxKey(name) });
    await interaction.editReply(`Pressed ${name}.`);
  },
};

const resize: Command = {
  definition: new SlashCommandBuilder()
    .setName("resize")
    .setDescription("Give this thread's terminal another size")
    .addIntegerOption((option) =>
      option.setName("cols").setDescription("Columns").setRequired(true).setMinValue(20).setMaxValue(500),
    )
    .addIntegerOption((option) =>
      option.setName("rows").setDescription("Rows").setRequired(true).setMinValue(5).setMaxValue(200),
    )
    .toJSON(),
  isPrivate: true,
  run: async (interaction, { threads }) => {
    const thread = threadHere(interaction, threads);
    const cols = interaction.options.getInteger("cols", true);
    const rows = interaction.options.getInteger("rows", true);
    await thread.resize({ cols, rows });
    await interaction.editReply(`The terminal has ${cols} columns and ${rows} rows now.`);
  },
};

const screenshot: Command = {
  definition: new SlashCommandBuilder()
    .setName("screenshot")
    .setDescription("Show this thread's terminal as a picture, with its colours")
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { threads, screenshots }) => {
    const screen = await threadHere(interaction, threads).getScreen({ format: "ansi" });
    const attachment = await screenshots.render(screen);
    await interaction.editReply({ files: [{ attachment, name: "screen.png" }] });
  },
};

const exported: Command = {
  definition: new SlashCommandBuilder()
    .setName("export")
    .setDescription("Get this thread's whole output as a file")
    .toJSON(),
  isPrivate: false,
  run: async (interaction, { threads }) => {
    const thread = threadHere(interaction, threads);
    const maxBytes = Math.min(interaction.attachmentSizeLimit, MAX_EXPORT_BYTES);
    const signal = AbortSignal.timeout(EXPORT_TIMEOUT_MS);
    const { fileName, data, note } = await exportLog({ thread, maxBytes, signal });
    await interaction.editReply({ content: note ?? "", files: [{ attachment: data, name: fileName }] });
  },
};

/** Tells whoever used the command how long Discord makes them wait for a new thread. */
function tellWait(interaction: ChatInputCommandInteraction, now: () => number): (ms: number) => void {
  return (ms) => {
    const at = Math.ceil((now() + ms) / 1_000);
    const content = `⏳ Discord allows no new thread here for ${Math.ceil(ms / 1_000)} s; yours is made then, <t:${at}:R>.`;
    // The thread is made even if this answer does not get through; the last answer comes all the same.
    interaction.editReply(content).catch(() => undefined);
  };
}

/** The thread that the command was used in. @throws AppError */
function threadHere(interaction: ChatInputCommandInteraction, threads: Threads): VmThread {
  const thread = threads.find(interaction.channelId);
  if (thread) return thread.vm;
  throw new AppError(
    "invalid_request",
    `/${interaction.commandName} belongs into a thread with a session; /status lists them.`,
  );
}

export const COMMANDS = new Map<string, Command>(
  [terminal, agent, done, kill, status, key, resize, screenshot, exported].map((command) => [
    command.definition.name,
    command,
  ]),
);

/** The choices for the option that is being typed. */
export async function completions(
  interaction: AutocompleteInteraction,
  { vm }: CommandContext,
): Promise<{ name: string; value: string }[]> {
  const { name, value } = interaction.options.getFocused(true);
  const choices = await complete(vm, name, value);
  return choices.filter((choice) => choice.value.length <= MAX_CHOICE_CHARACTERS).slice(0, MAX_CHOICES);
}

async function complete(vm: Vm, option: string, typed: string) {
  switch (option) {
    case "dir":
      return completeDirectory(vm, typed);
    case "thread":
      return completeThread(vm, typed);
    case "name":
      return completeKey(typed).map((name) => ({ name, value: name }));
    default:
      return [];
  }
}

async function completeDirectory(vm: Vm, typed: string) {
  const repos = await vm.listRepos(typed);
  return repos.map(({ dir, branch, dirty }) => ({
    name: directoryChoice(dir, branch, dirty === true),
    value: dir,
  }));
}

async function completeThread(vm: Vm, typed: string) {
  const threads = await vm.listThreads();
  return threads
    .map(({ threadId, type, dir, command }) => ({
      name: threadName(type, dir, command),
      value: threadId,
    }))
    .filter(({ name, value }) => name.toLowerCase().includes(typed.toLowerCase()) || value.startsWith(typed));
}

async function findBranches(vm: Vm, dirs: string[]): Promise<Map<string, string>> {
  const found = await Promise.all(
    dirs.map(async (dir) => {
      const repos = await vm.listRepos(dir);
      return [dir, repos.find((repo) => repo.dir === dir)?.branch] as const;
    }),
  );
  return new Map(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function joinBlocks(blocks: readonly string[], max: number): string[] {
  const messages: string[] = [];
  for (const block of blocks) {
    const last = messages.at(-1);
    if (last !== undefined && last.length + block.length + 1 <= max)
      messages[messages.length - 1] = `${last}\n${block}`;
    else messages.push(block);
  }
  return messages;
}
