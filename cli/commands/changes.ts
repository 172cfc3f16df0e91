/** What an agent's turn changed in its work tree, and putting it back. */
import type { Command } from "commander";
import type { DiffReply } from "../../shared/agent/api.ts";
import { undoText } from "../../shared/agent/change-text.ts";
import type { EventOf } from "../../shared/agent/events.ts";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { followTranscript, readEnd } from "../agents/transcript.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findAgent } from "../find-thread.ts";

const PACE_MS = 200;
const PATIENCE_MS = 60_000;
const TURN = "of this turn, or of this undo; without it of the newest turn that changed files";

export function addChanges(program: Command, act: Act): void {
  program
    .command("diff")
    .description("what an agent's turn changed in its git work tree")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--turn <id>", TURN)
    .addHelpText("after", examples("threadmux diff 12", "threadmux diff --json 12 | jq -r .files[].path"))
    .action((thread: string, { turn }: { turn?: string }, command: Command) =>
      act(command, (context) => diff(context, thread, turn)),
    );
  program
    .command("undo")
    .description("put the files back that an agent's turn changed, and that nobody has changed since")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--turn <id>", TURN)
    .addHelpText("after", examples("threadmux undo 12", "threadmux undo 12 --turn u41    undoes that undo"))
    .action((thread: string, { turn }: { turn?: string }, command: Command) =>
      act(command, (context) => undo(context, thread, turn)),
    );
}

async function diff({ client, out, isJson }: Context, wanted: string, turn?: string): Promise<number> {
  const api = client();
  const { threadId } = await findAgent(api, wanted);
  const reply = await api.getDiff(threadId, turn === undefined ? {} : { turnId: turn });
  if (isJson) await out.json({ threadId, ...reply });
  else await out.write(textOf(reply));
  return EXIT.ok;
}

function textOf({ patch, isCut }: DiffReply): string {
  return `${cleanLines(patch)}${isCut ? "\n(cut: the diff is longer than 1 MiB)\n" : ""}`;
}

async function undo({ client, out, isJson }: Context, wanted: string, turn?: string): Promise<number> {
  const api = client();
  const { threadId } = await findAgent(api, wanted);
  const { offset } = await readEnd(api, threadId, () => true);
  const request = { control: "undo" as const, ...(turn !== undefined && { turnId: turn }) };
  await api.controlAgent(threadId, request);
  const done = await untilUndone(api, threadId, offset, turn);
  if (isJson) await out.json({ threadId, ...done });
  else await out.line(`${undoText(done)} (${cleanLine(done.undoId)})`);
  return done.status === "completed" ? EXIT.ok : EXIT.refused;
}

/** The runner says what came of it in the transcript. */
async function untilUndone(
  client: SidecarClient,
  threadId: string,
  since: number,
  turn: string | undefined,
): Promise<EventOf<"undo">> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let position = since; Date.now() < deadline; await pause(PACE_MS)) {
    for await (const part of followTranscript(client, threadId, position, async () => undefined)) {
      position = part.offset;
      for (const { event } of part.lines)
        if (event?.type === "undo" && (turn === undefined || event.target === turn)) return event;
    }
  }
  throw new AppError("unavailable", "It has not been undone yet; `tail` shows when it is.");
}
