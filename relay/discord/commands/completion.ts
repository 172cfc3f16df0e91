/** What Discord suggests while an option is typed. */
import type { AutocompleteInteraction } from "discord.js";
import { directoryChoice, threadName } from "../../texts.ts";
import type { Vm } from "../../threads/vm.ts";
import { completeKey } from "../keys.ts";
import type { CommandContext } from "./command.ts";

/** Discord shows at most 25 choices of at most 100 characters. */
const MAX_CHOICES = 25;
const MAX_CHOICE_CHARACTERS = 100;

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
