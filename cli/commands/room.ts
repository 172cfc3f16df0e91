/** Rooms: several agents in one conversation, which write in turn. */
import type { Command } from "commander";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { RoomClient } from "../../shared/room-client.ts";
import { type NewMember, newRoomSchema, type Room } from "../../shared/rooms/api.ts";
import { ROOM_PROTOCOLS, type RoomProtocol, roomProtocolSchema } from "../../shared/rooms/protocol.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { makeId } from "../new-id.ts";
import { formatTable } from "../table.ts";

const COLUMNS = [
  { title: "ROOM" },
  { title: "PROTOCOL" },
  { title: "TURN OF", minWidth: 8 },
  { title: "TURNS" },
  { title: "COST" },
  { title: "MEMBERS", minWidth: 12 },
];
const MEMBER = "an agent thread (its id, name, number or title), or as:<directive>";
const DIRECTIVE = "as:";
/** That `show` prints. */
const LAST_LINES = 20;

interface NewOptions {
  protocol: string;
  lead?: string;
  dir: string;
  id?: string;
  title?: string;
  maxTurns?: string;
  maxUsd?: string;
  turnSeconds?: string;
  discord?: boolean;
}

export function addRoom(program: Command, act: Act): void {
  const group = program
    .command("room")
    .description("several agents in one conversation, which write in turn; people write in it with send")
    .addHelpText(
      "after",
      examples(
        "threadmux room new 12 as:reviewer --protocol round_robin",
        'threadmux room say review-k3f9x "What is wrong with the build?"',
        "threadmux room show review-k3f9x",
        "threadmux room stop review-k3f9x",
      ),
    );
  addNew(group, act);
  group
    .command("ls")
    .description("which rooms there are, who has the turn, and what it has cost since a person wrote")
    .action((_options: object, own: Command) => act(own, list));
  const command = (name: string, about: string) =>
    group.command(name).description(about).argument("<room>", "its id, name or title");
  command("show", "who is in a room, whose turn it is, and what was said last").action(
    (room: string, _options: object, own: Command) => act(own, (context) => show(context, room)),
  );
  command("say", "say something to all in a room")
    .argument("<text>", "@name names a member")
    .action((room: string, text: string, _options: object, own: Command) =>
      act(own, (context) => say(context, room, text)),
    );
  command("add", "let an agent into a room")
    .argument("<member>", MEMBER)
    .action((room: string, member: string, _options: object, own: Command) =>
      act(own, (context) => change(context, room, (rooms, id) => rooms.add(id, memberOf(member)))),
    );
  command("remove", "take a member out of a room; its thread goes on")
    .argument("<member>", "its name in the room, or its thread's id, name, number or title")
    .action((room: string, member: string, _options: object, own: Command) =>
      act(own, (context) => change(context, room, (rooms, id) => rooms.remove(id, member))),
    );
  command("protocol", "set who may write when; the round that runs ends")
    .argument("<protocol>", ROOM_PROTOCOLS.join(", "))
    .option("--lead <member>", "of orchestrated: the member that names others")
    .action((room: string, wanted: string, { lead }: { lead?: string }, own: Command) =>
      act(own, (context) =>
        change(context, room, (rooms, id) =>
          rooms.setProtocol(id, { protocol: protocolOf(wanted), ...(lead !== undefined && { lead }) }),
        ),
      ),
    );
  command("stop", "end the round, and interrupt whoever has the turn").action(
    (room: string, _options: object, own: Command) => act(own, (context) => stop(context, room)),
  );
}

function addNew(group: Command, act: Act): void {
  group
    .command("new")
    .description("make a room of agents that speak with a tool (agent.voice message), and print its id")
    .argument("<members...>", MEMBER)
    .requiredOption("--protocol <protocol>", ROOM_PROTOCOLS.join(", "))
    .option("--lead <member>", "of orchestrated: the member that names others, as it is named here")
    .option("--dir <dir>", "where directives make members, below REPOS_DIR", ".")
    .option("--id <id>", "the room's id (otherwise room and five characters)")
    .option("--title <text>", "what people call it")
    .option("--max-turns <count>", "turns since a person wrote (otherwise 10 for each member)")
    .option("--max-usd <amount>", "dollars since a person wrote; none for no cap (otherwise 5)")
    .option("--turn-seconds <seconds>", "how long one turn may take (otherwise 600)")
    .option("--discord", "a thread in Discord too")
    .action((members: string[], options: NewOptions, own: Command) =>
      act(own, (context) => make(context, members, options)),
    );
}

async function make(context: Context, members: readonly string[], options: NewOptions): Promise<number> {
  const { protocol, lead, dir, id, title, maxTurns, maxUsd, turnSeconds, discord } = options;
  const parsed = newRoomSchema().safeParse({
    ...{
      threadId: id ?? makeId("room"),
      protocol: protocolOf(protocol),
      dir,
      members: members.map(memberOf),
    },
    ...(lead !== undefined && { lead }),
    ...(title !== undefined && { title }),
    ...(maxTurns !== undefined && { maxTurns: Number(maxTurns) }),
    ...(maxUsd !== undefined && { maxUsd: maxUsd === "none" ? null : Number(maxUsd) }),
    ...(turnSeconds !== undefined && { turnSeconds: Number(turnSeconds) }),
    ...(discord && { home: "discord" as const }),
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new AppError("invalid_request", `${issue?.path.join(".")}: ${issue?.message}`);
  }
  const room = await new RoomClient(context.client()).create(parsed.data);
  if (context.isJson) await context.out.json(room);
  else await context.out.line(room.threadId);
  return EXIT.ok;
}

/** @throws AppError `invalid_request` */
function protocolOf(text: string): RoomProtocol {
  const { data } = roomProtocolSchema.safeParse(text);
  if (data !== undefined) return data;
  throw new AppError(
    "invalid_request",
    `protocol: ${JSON.stringify(text)} is none of ${ROOM_PROTOCOLS.join(", ")}.`,
  );
}

function memberOf(text: string): NewMember {
  return text.startsWith(DIRECTIVE) ? { directive: text.slice(DIRECTIVE.length) } : { threadId: text };
}

async function list({ client, out, note, isJson }: Context): Promise<number> {
  const rooms = await new RoomClient(client()).list();
  const rows = rooms.filter(({ isOpen }) => isOpen).map(rowOf);
  if (isJson) await out.json({ rooms });
  else if (!out.isTty) for (const row of rows) await out.line(row.join("\t"));
  else if (rows.length === 0) await note("no room is open; threadmux room new --help says how to make one");
  else for (const line of formatTable(COLUMNS, rows, out.columns)) await out.line(line);
  return EXIT.ok;
}

function rowOf({ threadId, protocol, turnOf, turns, maxTurns, costUsd, maxUsd, members }: Room): string[] {
  return [
    ...[threadId, protocol, turnOf.join(", ") || "nobody", `${turns}/${maxTurns}`],
    `$${costUsd.toFixed(2)}${maxUsd === null ? "" : `/$${maxUsd.toFixed(2)}`}`,
    members.map(({ name }) => `@${name}`).join(", "),
  ].map((cell) => cleanLine(cell));
}

async function show(context: Context, name: string): Promise<number> {
  const { client, out, isJson } = context;
  const rooms = new RoomClient(client());
  const { threadId } = await findThread(client(), name);
  const room = await rooms.get(threadId);
  const lines = await rooms.listLines(threadId, Math.max(0, room.lines - LAST_LINES));
  if (isJson) {
    await out.json({ room, lines });
    return EXIT.ok;
  }
  const turn =
    room.turnOf.map((one) => `@${one}`).join(", ") || `nobody: ${room.why ?? "nobody has written yet"}`;
  const lead = room.lead === null ? "" : `, lead @${room.lead}`;
  await out.line(`${cleanLine(room.title)} (${room.name}): ${room.protocol}${lead}`);
  await out.line(`the turn is of ${cleanLine(turn)}`);
  const [, , , turns, cost] = rowOf(room);
  await out.line(`${turns} turns and ${cost} since a person wrote`);
  for (const { name: own, number, threadId: id, costUsd } of room.members)
    await out.line(`@${own}\t${number === null ? "" : `#${number}`}\t${id}\t$${costUsd.toFixed(2)}`);
  for (const { kind, name: who, number, text } of lines) {
    const by = who === null ? "" : `${who}${number === null ? "" : ` #${number}`}`;
    const words =
      kind === "text" || kind === "person" ? `${by}: ${text}` : `-- ${by === "" ? "" : `${by} `}${text}`;
    await out.line(cleanLines(words));
  }
  return EXIT.ok;
}

async function say({ client }: Context, name: string, text: string): Promise<number> {
  const { threadId } = await findThread(client(), name);
  await new RoomClient(client()).get(threadId);
  await client().sendInput(threadId, { text });
  return EXIT.ok;
}

async function change(
  { client, out, isJson }: Context,
  name: string,
  work: (rooms: RoomClient, id: string) => Promise<Room>,
): Promise<number> {
  const { threadId } = await findThread(client(), name);
  const room = await work(new RoomClient(client()), threadId);
  if (isJson) await out.json(room);
  else await out.line(rowOf(room).join("\t"));
  return EXIT.ok;
}

async function stop({ client, out, note, isJson }: Context, name: string): Promise<number> {
  const { threadId } = await findThread(client(), name);
  const reply = await new RoomClient(client()).stop(threadId);
  if (isJson) await out.json(reply);
  else if (!reply.stopped) await note("the room rested already");
  return EXIT.ok;
}
