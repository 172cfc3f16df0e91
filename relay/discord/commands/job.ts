/** `/job`: work that begins by itself. */
import {
  type ChatInputCommandInteraction,
  SlashCommandBuilder,
  type SlashCommandStringOption,
  type SlashCommandSubcommandBuilder,
} from "discord.js";
import { AppError } from "../../../shared/errors.ts";
import type { Job, JobRequest } from "../../../shared/jobs/job.ts";
import { isClock } from "../../../shared/jobs/when.ts";
import { job as jobAction } from "../../actions/job.ts";
import { doesText, jobLine, nextText, runLine } from "../../content/lists/jobs.ts";
import { fitLines } from "../../content/lists/lines.ts";
import { escapeMarkdown, inlineCode } from "../../content/texts.ts";
import { discordIdOf } from "../../sidecar/names.ts";
import { toMessage } from "../buttons.ts";
import type { Command, CommandContext } from "./command.ts";
import { dirOption, MAX_OPTION_CHARACTERS } from "./command.ts";
import { addDirectiveOptions, chosenDirective } from "./directive-options.ts";
import type { Part } from "./thread/part.ts";

const SHOWN_RUNS = 15;
const MAX_WORDS = 300;

const add: Part = {
  define: (part) => {
    part
      .setName("add")
      .setDescription("Make a job; its next instants are shown before it is created")
      .addStringOption((option) =>
        option.setName("name").setDescription("a-z, 0-9 and -").setRequired(true).setMaxLength(40),
      )
      .addStringOption((option) =>
        option
          .setName("when")
          .setDescription(
            "every 30m · every weekday at 9 · at 17:00 · in 20m · on turn_end of 12 · 0 9 * * 1-5",
          )
          .setRequired(true)
          .setMaxLength(200),
      )
      .addStringOption(dirOption("Where it works", true))
      .addStringOption(words("prompt", "Start an agent with this prompt"))
      .addStringOption(words("terminal", "Start a terminal with this command"))
      .addStringOption(words("command", "Run this command without a terminal; its output is the report"))
      .addStringOption((option) =>
        option.setName("zone").setDescription("Of the times, such as Europe/Berlin").setMaxLength(64),
      )
      .addStringOption((option) =>
        option
          .setName("runs-in")
          .setDescription("Of an agent: a thread for each run, or one that goes on")
          .addChoices({ name: "a thread each", value: "each" }, { name: "one thread", value: "one" }),
      )
      .addNumberOption((option) =>
        option.setName("max-usd").setDescription("Dollars for a run (1)").setMinValue(0.0001),
      )
      .addNumberOption((option) =>
        option
          .setName("max-usd-per-day")
          .setDescription("Dollars for all runs of a day (5)")
          .setMinValue(0.0001),
      );
    addDirectiveOptions(part);
    return part;
  },
  right: "jobs",
  isPrivate: false,
  run: async (interaction, { vm }) => {
    const request = await requestOf(interaction, vm);
    const report = interaction.channel?.isThread() ? interaction.channel.parentId : interaction.channelId;
    // It is there from now on, paused: the button says no more than its name.
    const made = await vm.jobs.create({
      ...request,
      ...(report !== null && { report }),
      paused: true,
    });
    const { words: next } = await vm.jobs.preview(made.when);
    await interaction.editReply(
      toMessage({
        content: questionText(made, next),
        buttons: [
          ...jobAction.buttons({ what: "create", name: made.name }, "Create", "success"),
          ...jobAction.buttons({ what: "drop", name: made.name }, "Don't", "secondary"),
        ],
      }),
    );
  },
};

const list: Part = {
  define: (part) => part.setName("list").setDescription("Which jobs there are, and when each is due next"),
  right: "read",
  isPrivate: true,
  run: async (interaction, { vm }) => {
    const jobs = await vm.jobs.list();
    const none = "There is no job. Make one with /job add.";
    await interaction.editReply(jobs.length === 0 ? none : fitLines("Jobs:", jobs.map(jobLine)));
  },
};

const history: Part = {
  define: (part) =>
    part
      .setName("history")
      .setDescription("The last runs of a job, and why each did not begin or failed")
      .addStringOption(jobOption),
  right: "read",
  isPrivate: true,
  run: async (interaction, { vm }) => {
    const name = interaction.options.getString("job", true);
    const runs = await vm.jobs.listRuns(name, SHOWN_RUNS);
    const threads = await vm.listThreads("all");
    const places = new Map(threads.map((thread) => [thread.ownId, discordIdOf(thread)]));
    const lines = runs.map((run) =>
      runLine(run, run.threadId === null ? undefined : places.get(run.threadId)),
    );
    const head = lines.length === 0 ? "has not run yet." : "ran last:";
    await interaction.editReply(fitLines(`**${escapeMarkdown(name)}** ${head}`, lines));
  },
};

/** A sub-command that does one thing to a job, and says so. */
function simple(
  name: string,
  description: string,
  act: (name: string, context: CommandContext) => Promise<string>,
): Part {
  return {
    define: (part) => part.setName(name).setDescription(description).addStringOption(jobOption),
    right: "jobs",
    isPrivate: false,
    run: async (interaction, context) => {
      const job = interaction.options.getString("job", true);
      await interaction.editReply(await act(job, context));
    },
  };
}

const PARTS: Readonly<Record<string, Part>> = {
  add,
  list,
  run: simple("run", "Run a job now, beside its schedule", async (name, { vm }) => {
    await vm.jobs.run(name);
    return `▶️ **${escapeMarkdown(name)}** runs; /job history says what came of it.`;
  }),
  pause: simple("pause", "Nothing is due until the job is resumed", async (name, { vm }) =>
    jobLine(await vm.jobs.pause(name)),
  ),
  resume: simple("resume", "Go on; what was due meanwhile is not run", async (name, { vm }) =>
    jobLine(await vm.jobs.resume(name)),
  ),
  remove: simple("remove", "Remove a job; the threads of its runs stay", async (name, { vm }) => {
    await vm.jobs.remove(name);
    return `The job **${escapeMarkdown(name)}** is removed.`;
  }),
  history,
};

function getPart(name: string): Part {
  const part = PARTS[name];
  if (!part) throw new Error(`/job has no ${name}`);
  return part;
}

const builder = new SlashCommandBuilder().setName("job").setDescription("Work that begins by itself");
for (const { define } of Object.values(PARTS))
  builder.addSubcommand((part: SlashCommandSubcommandBuilder) => define(part));

export const job: Command = {
  definition: builder.toJSON(),
  right: ({ options }) => getPart(options.getSubcommand()).right,
  isPrivate: (interaction) => getPart(interaction.options.getSubcommand()).isPrivate,
  run: (interaction, context) => getPart(interaction.options.getSubcommand()).run(interaction, context),
};

function words(name: string, description: string) {
  return (option: SlashCommandStringOption) =>
    option.setName(name).setDescription(description).setMaxLength(MAX_OPTION_CHARACTERS);
}

function jobOption(option: SlashCommandStringOption) {
  return option.setName("job").setDescription("Which one").setRequired(true).setAutocomplete(true);
}

/** @throws AppError `invalid_request` that names the option */
async function requestOf(
  { options }: ChatInputCommandInteraction,
  vm: CommandContext["vm"],
): Promise<JobRequest> {
  const [prompt, terminal, command] = [
    options.getString("prompt"),
    options.getString("terminal"),
    options.getString("command"),
  ];
  if ([prompt, terminal, command].filter((given) => given !== null).length !== 1)
    throw new AppError(
      "invalid_request",
      "prompt, terminal, command: take one of them; what does the job start?",
    );
  const [dir, zone] = [options.getString("dir", true), options.getString("zone")];
  const [spendUsd, spendUsdPerDay] = [options.getNumber("max-usd"), options.getNumber("max-usd-per-day")];
  const home = "discord" as const;
  const thread = options.getString("runs-in") === "one" ? ("one" as const) : ("each" as const);
  const agent = await chosenDirective({ options }, vm, dir);
  const [named] = Object.keys(agent);
  if (prompt === null && named !== undefined)
    throw new AppError(
      "invalid_request",
      `${named === "directive" ? "as" : named}: is for an agent, which a prompt starts.`,
    );
  const what =
    prompt !== null
      ? { type: "agent" as const, dir, prompt, thread, home, ...(named !== undefined && { agent }) }
      : terminal !== null
        ? { type: "terminal" as const, dir, command: terminal, home }
        : { type: "command" as const, dir, command: command ?? "" };
  return {
    name: options.getString("name", true),
    when: { type: "words", words: options.getString("when", true), ...(zone !== null && { zone }) },
    what,
    limits: { ...(spendUsd !== null && { spendUsd }), ...(spendUsdPerDay !== null && { spendUsdPerDay }) },
  };
}

function questionText(job: Job, next: string): string {
  const { name, when, limits } = job;
  const due = isClock(when)
    ? `Due ${escapeMarkdown(next)} (${"zone" in when ? when.zone : "UTC"}).`
    : `Begins ${escapeMarkdown(next)}.`;
  const costs =
    "prompt" in job.what ? `At most $${limits.spendUsd} a run and $${limits.spendUsdPerDay} a day.` : "";
  const head = `⏰ **${escapeMarkdown(name)}** ${inlineCode(doesText(job), MAX_WORDS)}`;
  const by = job.directive ? `By the directive ${inlineCode(job.directive.file, MAX_WORDS)}.` : "";
  return [head, by, due, costs, nextText(job)].filter((line) => line !== "").join("\n");
}
