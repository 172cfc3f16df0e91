/** What happens over all threads, as it happens. */
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { type EventsQuery, eventIdSchema, type HubEvent, type Reset } from "../../shared/hub-events.ts";
import { collect } from "../agents/config.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { onSilence } from "../kinds/kind.ts";
import { onLeave } from "../leave.ts";

const MAX_TEXT_CHARACTERS = 160;
/** Where an event says what a person wants to know first. */
const TELLING = ["title", "text", "message", "stopReason", "status", "name"];

interface EventsOptions {
  follow?: boolean;
  since?: string;
  thread?: string[];
  type?: string[];
  tag?: string[];
}

export function addEvents(program: Command, act: Act): void {
  program
    .command("events")
    .summary("what happens over all threads, as it happens")
    .description(
      "print what happens over all threads, an event a line, until Ctrl-C; a sidecar that restarts is waited for, and no event is left out or printed twice",
    )
    .option("-f, --follow", "go on for ever, which it does anyhow")
    .option("--since <id>", "after this event, the first field of a line; 0: all that are kept")
    .option("--thread <thread>", "of this thread alone; may be given again", collect)
    .option("--type <type>", "of this type alone, such as turn_end; may be given again", collect)
    .option("--tag <tag>", "of agents with this tag; may be given again", collect)
    .addHelpText(
      "after",
      examples(
        "threadmux events --follow",
        "threadmux events --since 0 --thread 12",
        "threadmux events --json --type turn_end --tag ci | jq -r .threadId",
        "threadmux events --type permission_request --type elicitation_request",
      ),
    )
    .action((options: EventsOptions, command: Command) =>
      act(command, (context) => events(context, options)),
    );
}

async function events(context: Context, options: EventsOptions): Promise<number> {
  const { out, isJson } = context;
  const client = context.client();
  const { since, thread: wanted = [], type, tag } = options;
  const start = since === undefined ? undefined : eventIdSchema.safeParse(since);
  if (start && !start.success) throw new AppError("invalid_request", "--since: must be the id of an event");
  const threads = [];
  for (const name of wanted) threads.push((await findThread(client, name)).threadId);
  const query: EventsQuery = {
    ...(start ? { since: start.data } : {}),
    ...(threads.length > 0 ? { thread: threads } : {}),
    ...(type ? { type } : {}),
    ...(tag ? { tag } : {}),
  };
  await client.listThreads(); // a sidecar that is not there is told; one that goes away later is waited for
  const stay = onLeave(() => {});
  try {
    for await (const told of client.followEvents(query, undefined, onSilence(context))) {
      if (isJson) await out.json(told);
      else await out.line(lineOf(told));
    }
    return EXIT.ok;
  } finally {
    stay();
  }
}

function lineOf(told: HubEvent | Reset): string {
  if (!("threadId" in told)) return `${told.id}\t-\treset\tevents before this one are not kept any more`;
  const { id, threadId, type, event } = told;
  const text = TELLING.map((field) => event?.[field]).find((value) => typeof value === "string");
  const shown = typeof text === "string" ? cleanLine(text.slice(0, MAX_TEXT_CHARACTERS)) : "";
  return [id, threadId, cleanLine(type), shown].join("\t");
}
