/** What Discord suggests while an option is typed. */
import type { AutocompleteInteraction } from "discord.js";
import { ENGINE_NAMES } from "../../../shared/agent/engines/engines.ts";
import { isOpen } from "../../../shared/api.ts";
import { agentOf } from "../../../shared/channel-api.ts";
import { cleanLine } from "../../../shared/clean-text.ts";
import { chosenEngine, type EngineChoice, engineChoices } from "../../../shared/engines-api.ts";
import { AppError } from "../../../shared/errors.ts";
import { kindOf } from "../../../shared/kinds.ts";
import { doesText } from "../../content/lists/jobs.ts";
import { isListed, isMeant, threadChoice } from "../../content/lists/threads.ts";
import { directoryChoice } from "../../content/texts.ts";
import type { Thread } from "../../sidecar/names.ts";
import type { Vm } from "../../sidecar/vm.ts";
import { completeKey } from "../keys.ts";
import { findServed } from "./channel-here.ts";
import type { CommandContext } from "./command.ts";
import { HEARER_OPTION, USUAL } from "./command.ts";
import { findThread } from "./thread/part.ts";

/** Discord shows at most 25 choices of at most 100 characters. */
const MAX_CHOICES = 25;
const MAX_CHOICE_CHARACTERS = 100;
/** They change a model of a thread that there is. */
const PARTS_OF_THREADS = new Set(["model", "branch"]);
/** Discord takes an answer for 3 s. */
const ENGINES_MS = 2_000;

/** The choices for the option that is being typed; none if the sidecar refuses to tell the person any. */
export async function completions(
  interaction: AutocompleteInteraction,
  context: CommandContext,
): Promise<{ name: string; value: string }[]> {
  try {
    return await choicesFor(interaction, context);
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

async function choicesFor(interaction: AutocompleteInteraction, context: CommandContext) {
  const { name, value } = interaction.options.getFocused(true);
  const part = interaction.options.getSubcommand(false) ?? interaction.commandName;
  const place = interaction.options.getString("thread") ?? interaction.channelId;
  const row = findServed(interaction, context)?.row;
  const dir = interaction.options.getString("dir") ?? row?.dir ?? ".";
  const engine = interaction.options.getString("engine") ?? (part === "here" ? (row?.engine ?? null) : null);
  const what = { part, option: name, typed: value, place, dir, engine: engine === USUAL ? null : engine };
  const found = await complete(context, what);
  const choices = part === "here" ? asSettings(name, value, found) : found;
  // One that Discord does not take would take all others with it: a directory may be called by a blank.
  const isTaken = (value: string) => value.length <= MAX_CHOICE_CHARACTERS && value.trim() !== "";
  return choices.filter(({ value }) => isTaken(value)).slice(0, MAX_CHOICES);
}

/** A channel's engine is one without parameters of its own, and each choice can be taken back. */
function asSettings(option: string, typed: string, choices: readonly { name: string; value: string }[]) {
  if (option === "dir") return [...choices];
  const own = choices.filter(
    ({ value }) => option !== "engine" || ENGINE_NAMES.some((name) => name === value),
  );
  return USUAL.startsWith(typed.trim().toLowerCase()) ? [{ name: USUAL, value: USUAL }, ...own] : own;
}

interface Typed {
  /** The command, or its sub-command. */
  part: string;
  option: string;
  typed: string;
  /** The thread that the command names, or is used in. */
  place: string;
  /** The directory that the command names. */
  dir: string;
  /** The engine that the command names. */
  engine: string | null;
}

async function complete(context: CommandContext, what: Typed) {
  const { part, option, typed, place, dir } = what;
  switch (option) {
    case "engine":
      return (await engineChoicesOf(context.vm))
        .filter(({ text }) => text.toLowerCase().includes(typed.trim().toLowerCase()))
        .map(({ value, text }) => ({ name: cut(cleanLine(text)), value }));
    case "model":
      return completeModel(context.vm, what);
    case "dir":
      return completeDirectory(context.vm, typed);
    case "thread":
      return completeThread(context, part, typed);
    case "service":
      return (await context.vm.listServices(dir, typed)).map((service) => ({
        name: cleanLine(service) || "?",
        value: service,
      }));
    case "job":
      return (await context.vm.jobs.list())
        .filter(({ name }) => name.includes(typed.trim().toLowerCase()))
        .map((job) => ({ name: cut(`${job.name} · ${doesText(job)}`), value: job.name }));
    case HEARER_OPTION:
      return completeAgent(context.vm, typed);
    case "file":
      return completeMemory(context.vm, typed);
    case "withdraw":
      return completeRule(context.vm, place, typed);
    case "as":
    case "directive":
      return completeDirective(context.vm, dir, typed);
    case "name":
      return completeKey(typed).map((name) => ({ name, value: name }));
    default:
      return [];
  }
}

/** The names of the agents that hear channels now. */
async function completeAgent(vm: Vm, typed: string) {
  const { channels } = await vm.channels.list();
  const names = new Set(channels.flatMap((row) => agentOf(row) ?? []));
  return [...names]
    .filter((name) => name.includes(typed.trim().toLowerCase()))
    .map((name) => ({ name, value: name }));
}

/** Files of memories; a directory's is found by the directory's path too. */
async function completeMemory(vm: Vm, typed: string) {
  const files = (await vm.memory.list()).flatMap(({ directory, files }) =>
    files.map(({ path }) => ({ path, text: directory === null ? path : `${path} · ${directory}` })),
  );
  return files
    .filter(({ text }) => text.toLowerCase().includes(typed.trim().toLowerCase()))
    .map(({ path, text }) => ({ name: cut(cleanLine(text)), value: path }));
}

async function completeDirectory(vm: Vm, typed: string) {
  const repos = await vm.listRepos(typed);
  return repos.map(({ dir, branch, dirty }) => ({
    name: directoryChoice(dir, branch, dirty === true),
    value: dir,
  }));
}

/** Those that are installed and, as far as that is known, signed in. None if the machine takes its time to say. */
async function engineChoicesOf(vm: Vm): Promise<EngineChoice[]> {
  try {
    return engineChoices(await vm.listEngines(ENGINES_MS));
  } catch (error) {
    if (error instanceof AppError && error.code === "unavailable") return [];
    throw error;
  }
}

/** Models that the engine knows: the one that the command names, the thread's if there is one, or the default. */
async function completeModel(vm: Vm, { part, typed, place, engine }: Typed) {
  const own = PARTS_OF_THREADS.has(part) ? (await findThread(vm, place)).engine : undefined;
  const wanted = engine === null ? own : chosenEngine(engine).engine;
  const known = (await engineChoicesOf(vm)).map(({ state }) => state);
  const state = known.find(({ name, isDefault }) => (wanted ? name === wanted : isDefault));
  return (state?.models ?? [])
    .filter((name) => name.includes(typed.trim().toLowerCase()))
    .map((name) => ({ name: cut(cleanLine(name)), value: name }));
}

function cut(text: string): string {
  return text.length <= MAX_CHOICE_CHARACTERS ? text : `${text.slice(0, MAX_CHOICE_CHARACTERS - 1)}…`;
}

async function completeDirective(vm: Vm, dir: string, typed: string) {
  const wanted = typed.trim().toLowerCase();
  return (await vm.listDirectives(dir))
    .filter(({ as }) => as.includes(wanted))
    .map(({ as, description }) => ({
      name: cleanLine(`${as}: ${description}`).slice(0, MAX_CHOICE_CHARACTERS),
      value: as,
    }));
}

/** A rule that is longer than a choice may be is suggested by its beginning. */
async function completeRule(vm: Vm, place: string, typed: string) {
  const { threadId } = await findThread(vm, place);
  const granted = await vm.thread(threadId).listRules();
  return ["all", ...granted]
    .filter((rule) => rule.includes(typed.trim()))
    .map(cut)
    .map((value) => ({ name: cleanLine(value), value }));
}

/** Those that the command can do something to, the ones at work first. */
async function completeThread({ vm, listMinutes, now }: CommandContext, part: string, typed: string) {
  const threads = await vm.listThreads(part === "history" ? "all" : "open");
  const isOld = (thread: Thread) => !isListed(thread, { listMinutes, now: now() });
  return threads
    .filter((thread) => isFor(part, thread) && isMeant(thread, typed))
    .reverse()
    .sort((a, b) => Number(isOld(a)) - Number(isOld(b)))
    .map(threadChoice);
}

function isFor(part: string, thread: Thread): boolean {
  const { hasTurns } = kindOf(thread);
  const { status } = thread;
  switch (part) {
    case "kill":
      return isOpen(status);
    case "pause":
      return hasTurns && status !== "paused";
    case "resume":
      return hasTurns && (status === "paused" || status === "failed");
    default:
      return hasTurns;
  }
}
