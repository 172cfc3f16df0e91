/** `/thread`: what people do with threads, from anywhere. Each sub-command has a file of its own in `thread/`. */
import { SlashCommandBuilder } from "discord.js";
import type { Command } from "./command.ts";
import { branch } from "./thread/branch.ts";
import { compact } from "./thread/compact.ts";
import { history } from "./thread/history.ts";
import { kill } from "./thread/kill.ts";
import { killAllPart } from "./thread/kill-all.ts";
import { limit } from "./thread/limit.ts";
import { list } from "./thread/list.ts";
import { mode } from "./thread/mode.ts";
import { model } from "./thread/model.ts";
import type { Part } from "./thread/part.ts";
import { pause } from "./thread/pause.ts";
import { resume } from "./thread/resume.ts";
import { rules } from "./thread/rules.ts";
import { worktree } from "./thread/worktree.ts";

const PARTS: Readonly<Record<string, Part>> = {
  list,
  history,
  pause,
  resume,
  mode,
  model,
  compact,
  limit,
  branch,
  rules,
  worktree,
  kill,
  "kill-all": killAllPart,
};

function getPart(name: string): Part {
  const part = PARTS[name];
  if (!part) throw new Error(`/thread has no ${name}`);
  return part;
}

const builder = new SlashCommandBuilder().setName("thread").setDescription("Look after the threads");
for (const { define } of Object.values(PARTS)) builder.addSubcommand(define);

export const thread: Command = {
  definition: builder.toJSON(),
  right: ({ options }) => getPart(options.getSubcommand()).right,
  isPrivate: (interaction) => getPart(interaction.options.getSubcommand()).isPrivate,
  run: (interaction, context) => getPart(interaction.options.getSubcommand()).run(interaction, context),
};
