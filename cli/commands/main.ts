/** The agents that hear channels: how one is, a message to it, and its rest. */
import type { Command } from "commander";
import { agentOf } from "../../shared/channel-api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { timeOf } from "../../shared/clock-text.ts";
import { AppError } from "../../shared/errors.ts";
import { channels } from "../../shared/protocol/channels.ts";
import type { MainStatus } from "../../shared/voice-api.ts";
import { VoiceClient } from "../../shared/voice-client.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";

interface OfOption {
  of?: string;
}

export function addMain(program: Command, act: Act): void {
  const group = program
    .command("main")
    .description("the agent that hears a channel of mode main, and lives on")
    .addHelpText(
      "after",
      examples(
        "threadmux main status",
        "threadmux main prompt look at the disk",
        "threadmux main pause --of ops",
        "threadmux main hand-over shop    it goes on in another directory",
        "threadmux channel set ops --mode main    gives a channel to an agent",
      ),
    );
  const add = (name: string, about: string) =>
    group
      .command(name)
      .description(about)
      .option("--of <agent>", "its name, or a channel that it hears; may be left out if there is one agent");
  add("status", "what it does, hears and has cost today, and whom it has not answered").action(
    (options: OfOption, command: Command) => act(command, (context) => status(context, options)),
  );
  add("prompt", "tell it something, also while it works; it is made if it is not there")
    .argument("<text...>", "what it is to hear from the owner")
    .action((words: string[], options: OfOption, command: Command) =>
      act(command, (context) => prompt(context, words.join(" "), options)),
    );
  add("pause", "hold it: its turn is cut off, and messages are refused until it is resumed").action(
    (options: OfOption, command: Command) =>
      act(command, (context) => control(context, { control: "pause" }, options)),
  );
  add("resume", "let it go on after a pause or a failure")
    .argument("[text...]", "with this message")
    .action((words: string[], options: OfOption, command: Command) =>
      act(command, (context) => {
        const input = words.length === 0 ? {} : { input: { text: words.join(" ") } };
        return control(context, { control: "resume", ...input }, options);
      }),
    );
  add("hand-over", "let it go on in another directory: its turn is cut off, and what it knows goes with it")
    .argument("<dir>", "below REPOS_DIR")
    .action((dir: string, options: OfOption, command: Command) =>
      act(command, (context) => handOver(context, dir, options)),
    );
}

async function handOver(context: Context, dir: string, options: OfOption): Promise<number> {
  const client = context.client();
  const made = await new VoiceClient(client).handOver(await findHeardChannel(client, options.of), dir);
  if (context.isJson) await context.out.json(made);
  else
    await context.out.line(
      cleanLine(`${made.name} goes on in ${made.dir}; before, it worked in ${made.from}`),
    );
  return EXIT.ok;
}

async function status(context: Context, options: OfOption): Promise<number> {
  const client = context.client();
  const found = await new VoiceClient(client).getMain(await findHeardChannel(client, options.of));
  if (context.isJson) await context.out.json(found);
  else
    for (const [name, value] of fieldsOf(found))
      await context.out.line(`${name.padEnd(10)} ${cleanLine(value)}`);
  return EXIT.ok;
}

async function prompt(context: Context, text: string, options: OfOption): Promise<number> {
  const client = context.client();
  const { threadId } = await new VoiceClient(client).findMain(await findHeardChannel(client, options.of));
  await client.sendInput(threadId, { text });
  if (context.isJson) await context.out.json({ sent: true, threadId });
  return EXIT.ok;
}

/** @throws AppError `not_found` if the agent is not made yet */
async function control(
  context: Context,
  request: Parameters<SidecarClient["controlAgent"]>[1],
  options: OfOption,
): Promise<number> {
  const client = context.client();
  const { name, threadId } = await new VoiceClient(client).getMain(
    await findHeardChannel(client, options.of),
  );
  if (threadId === null)
    throw new AppError(
      "not_found",
      `${name}: nobody has written to this agent yet, so there is nothing to hold`,
    );
  await client.controlAgent(threadId, request);
  if (context.isJson) await context.out.json({ accepted: true, threadId, control: request.control });
  return EXIT.ok;
}

/**
 * Finds a channel that the agent hears: every one of them leads to it.
 * @param wanted the agent's name, or a channel's name or id; undefined if there is one agent alone
 * @throws AppError `not_found`, `invalid_request` if several are meant
 */
async function findHeardChannel(client: SidecarClient, wanted: string | undefined): Promise<string> {
  const rows = (await client.call(channels.list, {})).channels;
  const heard = rows.flatMap((row) => {
    const agent = agentOf(row);
    return agent === undefined ? [] : [{ ...row, agent }];
  });
  const names = [...new Set(heard.map(({ agent }) => agent))];
  const [first] = heard;
  if (!first)
    throw new AppError(
      "not_found",
      "main: no agent hears a channel; threadmux channel set <channel> --mode main gives one to an agent",
    );
  const list = names.map((name) => JSON.stringify(name)).join(", ");
  if (wanted === undefined && names.length > 1)
    throw new AppError("invalid_request", `--of: several agents hear channels: ${list}; name one`);
  const isChannel = ({ id, name }: (typeof heard)[number]) =>
    id === wanted || (name !== null && name === wanted?.replace(/^#/, ""));
  const found =
    wanted === undefined
      ? first
      : (heard.find(({ agent }) => agent === wanted) ?? heard.find((row) => isChannel(row)));
  if (found) return found.id;
  throw new AppError(
    "not_found",
    `--of: ${JSON.stringify(wanted)} is neither an agent nor a channel that one hears; there is ${list}`,
  );
}

function fieldsOf(main: MainStatus): (readonly [string, string])[] {
  const { name, threadId, number, channels: heard, status: state, doing, problem, dir } = main;
  const { openAsks, costTodayUsd, childrenTodayUsd, waiting, unanswered, unansweredCount } = main;
  const names = heard.map((one) => (one.name === null ? one.id : `#${one.name}`));
  const some = (label: string, value: string | null) => (value === null ? [] : [[label, value] as const]);
  return [
    ["agent", number === null ? name : `${name} (#${number})`],
    ["thread", threadId ?? "none yet: the first message makes it"],
    ["hears", names.join(", ")],
    ...some("status", state),
    ...some("doing", doing),
    ...some("problem", problem),
    ...some("asks", openAsks === 0 ? null : String(openAsks)),
    ["dir", dir],
    ["today", `$${costTodayUsd.toFixed(2)}`],
    ...some("children", childrenTodayUsd === 0 ? null : `$${childrenTodayUsd.toFixed(2)} today`),
    ...some("not read", waiting === 0 ? null : String(waiting)),
    ...some("unanswered", unansweredCount === 0 ? null : String(unansweredCount)),
    ...unanswered.map(
      ({ handle, at, isRead }) => ["", `${handle} ${timeOf(at)}${isRead ? "" : ", not read yet"}`] as const,
    ),
  ];
}
