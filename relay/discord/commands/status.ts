import { MessageFlags, SlashCommandBuilder } from "discord.js";
import { statusText } from "../../texts.ts";
import type { Vm } from "../../threads/vm.ts";
import type { Command } from "./command.ts";

const MAX_MESSAGE_CHARACTERS = 1_900;

export const status: Command = {
  definition: new SlashCommandBuilder().setName("status").setDescription("List the open threads").toJSON(),
  isPrivate: true,
  run: async (interaction, { vm, threads, now }) => {
    const open = await vm.listThreads();
    if (open.length === 0) {
      await interaction.editReply("No thread is open. Start one with /terminal or /agent.");
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
