/** The channels that the relay serves: each is a project with a directory and settings of its own. */
import type { Command } from "commander";
import { LIMIT_NAMES } from "../../shared/agent/limit-schema.ts";
import {
  agentOf,
  type ChannelRequest,
  type ChannelRow,
  channelRequestSchema,
} from "../../shared/channel-api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { discordIdSchema } from "../../shared/ids.ts";
import { channels } from "../../shared/protocol/channels.ts";
import { addLimitOptions, type LimitOptions, limitChanges } from "../agents/limits.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { formatTable } from "../table.ts";

const CHANNEL = "its id at Discord (long press, Copy Channel ID), or the name that `channel list` shows";
/** In place of a value: as the sidecar's own settings have it. */
const USUAL = "default";
const COLUMNS = [
  ...[{ title: "ID" }, { title: "NAME", minWidth: 6 }, { title: "MODE" }, { title: "DIR", minWidth: 6 }],
  ...[
    { title: "AGENTS", minWidth: 8 },
    { title: "", minWidth: 12 },
  ],
];

interface SetOptions extends LimitOptions {
  dir?: string;
  mode?: string;
  engine?: string;
  model?: string;
  permissionMode?: string;
  directive?: string;
  agent?: string;
  worktree?: boolean;
}

/** The options by the names that the sidecar has for them. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...{ dir: "--dir", mode: "--mode", engine: "--engine", model: "--model" },
  ...{ permissionMode: "--permission-mode", directive: "--directive", worktree: "--worktree" },
  agent: "--agent",
};

export function addChannel(program: Command, act: Act): void {
  const channel = program
    .command("channel")
    .alias("channels")
    .description("the Discord channels that the relay serves, each with settings of its own")
    .addHelpText("after", examples("threadmux channel list", "threadmux channel set --help"));
  channel
    .command("list")
    .description("which there are; the first one takes what belongs to no other")
    .action((_options: object, command: Command) => act(command, list));
  const set = channel
    .command("set")
    .description("serve a channel, or change its settings; what is not named stays as it is")
    .argument("<channel>", CHANNEL)
    .option("--dir <dir>", "where its threads run if nobody says where, below REPOS_DIR")
    .option("--mode <mode>", "what a message in it does: off, mention, threads, main")
    .option("--engine <name>", `of its agents: their engine; ${USUAL}: the sidecar's`)
    .option("--model <name>", `of its agents: their model; ${USUAL}: the engine's`)
    .option("--permission-mode <mode>", `of its agents: plan, acceptEdits, …; ${USUAL}: the engine's`)
    .option("--directive <name>", `by which its agents are made; ${USUAL}: none`)
    .option("--agent <name>", `in mode main: the one agent that hears it; ${USUAL}: main`)
    .option("--worktree", "its agents work in a git worktree each, if nobody says otherwise")
    .option("--no-worktree", "they do not");
  addLimitOptions(set, "none")
    .addHelpText(
      "after",
      examples(
        "threadmux channel set 1331234567890123456 --dir shop --mode threads",
        "threadmux channel set shop --model opus --max-usd 5 --worktree",
        "threadmux channel set shop --model default --max-usd none",
      ),
    )
    .action((wanted: string, options: SetOptions, command: Command) =>
      act(command, (context) => setChannel(context, wanted, options)),
    );
  channel
    .command("remove")
    .description("serve a channel no more; its threads go on")
    .argument("<channel>", CHANNEL)
    .action((wanted: string, _options: object, command: Command) =>
      act(command, (context) => remove(context, wanted)),
    );
}

async function list({ client, out, note, isJson }: Context): Promise<number> {
  const { channels: rows } = await client().call(channels.list, {});
  if (isJson) await out.json({ channels: rows });
  else if (!out.isTty) for (const row of rows) await out.line(fields(row).join("\t"));
  else if (rows.length === 0) await note("no channels: the relay has not started yet");
  else for (const line of formatTable(COLUMNS, rows.map(fields), out.columns)) await out.line(line);
  return EXIT.ok;
}

async function setChannel(context: Context, wanted: string, options: SetOptions): Promise<number> {
  const client = context.client();
  const request = requestOf(options);
  const channelId = await findChannelId(client, wanted);
  const { channel } = await client.call(channels.set, { channelId }, { body: request });
  if (context.isJson) await context.out.json({ channel });
  else await context.out.line(fields(channel).join("\t"));
  return EXIT.ok;
}

async function remove(context: Context, wanted: string): Promise<number> {
  const client = context.client();
  const channelId = await findChannelId(client, wanted);
  await client.call(channels.remove, { channelId });
  if (context.isJson) await context.out.json({ removed: true, channelId });
  return EXIT.ok;
}

/** @throws AppError `invalid_request` naming the option */
function requestOf(options: SetOptions): ChannelRequest {
  const { dir, mode, engine, model, permissionMode, directive, agent, worktree, ...rest } = options;
  const choice = (value: string | undefined) => (value === USUAL ? null : value);
  const limits = limitChanges(rest);
  const given = {
    ...{ dir, mode, engine: choice(engine), model: choice(model) },
    ...{
      permissionMode: choice(permissionMode),
      directive: choice(directive),
      agent: choice(agent),
      worktree,
    },
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  const request = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const parsed = channelRequestSchema.safeParse(request);
  if (parsed.success) return request as ChannelRequest;
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0] ?? "");
  throw new AppError("invalid_request", `${OPTION_NAMES[field] ?? field}: ${issue?.message ?? "is wrong"}`);
}

/** @throws AppError `not_found`, `invalid_request` */
export async function findChannelId(client: SidecarClient, wanted: string): Promise<string> {
  const id = discordIdSchema.safeParse(/^<#(.+)>$/.exec(wanted)?.[1] ?? wanted);
  if (id.success) return id.data;
  const name = wanted.replace(/^#/, "");
  const { channels: rows } = await client.call(channels.list, {});
  const found = rows.filter((row) => row.name === name);
  if (found.length > 1)
    throw new AppError(
      "invalid_request",
      `channel: several are called ${JSON.stringify(name)}; take its id, which channel list shows`,
    );
  const [row] = found;
  if (row) return row.id;
  const hint = "take its id at Discord (17 to 20 digits), or a name that channel list shows";
  throw new AppError("not_found", `channel: there is none called ${JSON.stringify(name)}; ${hint}`);
}

function fields(row: ChannelRow): string[] {
  const { id, name, mode, dir, isFixed, problem } = row;
  const note = problem ?? (isFixed ? "set by the relay's own settings" : "");
  const cells = [id, name === null ? "" : `#${name}`, mode, dir, describeAgents(row), note];
  return cells.map((cell) => cleanLine(cell).trim());
}

function describeAgents(row: ChannelRow): string {
  const { engine, model, permissionMode, directive, limits, worktree } = row;
  const limited = LIMIT_NAMES.flatMap((name) =>
    limits[name] === undefined ? [] : [`${name} ${limits[name]}`],
  );
  const parts = [
    agentOf(row) ?? null,
    directive,
    engine,
    model,
    permissionMode,
    ...limited,
    worktree ? "worktree" : null,
  ];
  return parts.filter((part) => part !== null).join(", ");
}
