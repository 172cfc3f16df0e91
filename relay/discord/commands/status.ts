import { MessageFlags, SlashCommandBuilder } from "discord.js";
import { soonLine } from "../../content/lists/jobs.ts";
import { joinBlocks } from "../../content/lists/lines.ts";
import { isListed, restLine, statusText } from "../../content/lists/threads.ts";
import { inlineCode } from "../../content/texts.ts";
import type { Vm } from "../../sidecar/vm.ts";
import type { Command } from "./command.ts";

const MAX_MESSAGES = 5;
const MAX_PROBLEM = 400;

export const status: Command = {
  definition: new SlashCommandBuilder().setName("status").setDescription("List the open threads").toJSON(),
  right: "read",
  isPrivate: true,
  run: async (interaction, { vm, threads, listMinutes, now }) => {
    const open = await vm.listThreads();
    const problem = await vm.findSandboxProblem();
    const soon = soonLine(await vm.jobs.list(), now());
    const warnings = [...(problem === undefined ? [] : [noSandbox(problem)]), ...soon];
    if (open.length === 0) {
      await interaction.editReply(
        [...warnings, "No thread is open. Start one with /terminal or /agent."].join("\n"),
      );
      return;
    }
    const shown = open.filter((thread) => isListed(thread, { listMinutes, now: now() }));
    const hidden = open.length - shown.length;
    const branches = await findBranches(vm, [...new Set(shown.map((thread) => thread.dir))]);
    const blocks = shown.map((thread) => {
      const paused = threads.find(thread.threadId)?.paused;
      return statusText(thread, { branch: branches.get(thread.dir), paused, now: now() });
    });
    const [first = "", ...others] = joinBlocks([...warnings, ...blocks, ...restLine(hidden)], MAX_MESSAGES);
    await interaction.editReply(first);
    for (const content of others) await interaction.followUp({ content, flags: MessageFlags.Ephemeral });
  },
};

function noSandbox(problem: string): string {
  return `⚠️ Agents run without a sandbox: this machine refuses it (${inlineCode(problem, MAX_PROBLEM)}).`;
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
