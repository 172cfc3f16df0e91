/** Lists, gives and takes people's roles at Discord, in one channel or in all. */
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { type PersonRow, type RoleRequest, roleRequestSchema } from "../../shared/people-api.ts";
import { PeopleClient } from "../../shared/people-client.ts";
import { ROLES } from "../../shared/rights.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { formatTable } from "../table.ts";
import { findChannelId } from "./channel.ts";

const WHO = "a user's id at Discord, or & and the id of a role there: whoever has that role";
const CHANNEL =
  "there alone, and before what holds in all channels: an id, or a name that `channel list` shows";
const COLUMNS = [
  ...[{ title: "WHO" }, { title: "NAME", minWidth: 6 }, { title: "ROLE" }, { title: "CHANNEL" }],
  { title: "", minWidth: 12 },
];

interface Where {
  channel?: string;
}

export function addRole(program: Command, act: Act): void {
  const role = program
    .command("role")
    .description(`who may what at Discord: ${ROLES.join(", ")}; docs/security.md has the table`)
    .addHelpText("after", examples("threadmux role list", "threadmux role give --help"));
  role
    .command("list")
    .description("who has which role")
    .action((_options: object, command: Command) => act(command, list));
  role
    .command("give")
    .description("give somebody a role, in place of the one that they have there")
    .argument("<who>", WHO)
    .argument("<role>", ROLES.join(", "))
    .option("--channel <channel>", CHANNEL)
    .addHelpText(
      "after",
      examples(
        "threadmux role give 123456789012345678 member --channel shop",
        "threadmux role give '&223456789012345678' viewer",
      ),
    )
    .action((who: string, name: string, where: Where, command: Command) =>
      act(command, (context) => change(context, { who, role: name, where })),
    );
  role
    .command("take")
    .description("take a role back")
    .argument("<who>", WHO)
    .option("--channel <channel>", "the role that holds there alone")
    .action((who: string, where: Where, command: Command) =>
      act(command, (context) => change(context, { who, role: null, where })),
    );
}

async function list(context: Context): Promise<number> {
  await tell(context, await new PeopleClient(context.client()).list());
  return EXIT.ok;
}

async function change(
  context: Context,
  { who, role, where }: { who: string; role: string | null; where: Where },
): Promise<number> {
  const client = context.client();
  const channelId = where.channel === undefined ? null : await findChannelId(client, where.channel);
  await new PeopleClient(client).setRole(requestOf({ who, role, channelId }));
  await tell(context, await new PeopleClient(client).list());
  return EXIT.ok;
}

/** @throws AppError `invalid_request` naming the argument */
function requestOf({ who, role, channelId }: { who: string; role: string | null; channelId: string | null }) {
  const [, isRole, id = who] = /^(?:<@)?(&?)(\d+)>?$/.exec(who) ?? [];
  const request = { kind: isRole === "&" ? "role" : "user", id, channelId, role };
  const parsed = roleRequestSchema.safeParse(request);
  if (parsed.success) return parsed.data satisfies RoleRequest;
  const [issue] = parsed.error.issues;
  const field = issue?.path[0] === "id" ? "who" : String(issue?.path[0] ?? "");
  throw new AppError("invalid_request", `${field}: ${issue?.message ?? "is wrong"}`);
}

async function tell({ out, isJson }: Context, people: readonly PersonRow[]): Promise<void> {
  if (isJson) await out.json({ people });
  else if (!out.isTty) for (const row of people) await out.line(fields(row).join("\t"));
  else for (const line of formatTable(COLUMNS, people.map(fields), out.columns)) await out.line(line);
}

function fields({ kind, id, handle, role, channelId, isFixed }: PersonRow): string[] {
  const who = kind === "role" ? `&${id}` : id;
  const note = isFixed ? "set by the relay's own settings" : "";
  return [who, handle ?? "", role, channelId ?? "all", note].map((cell) => cleanLine(cell).trim());
}
