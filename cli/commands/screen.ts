import { stripVTControlCharacters } from "node:util";
import type { Command } from "commander";
import { cleanLines } from "../../shared/clean-text.ts";
import { withAddresses } from "../../shared/terminal-link.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { drawingOnly } from "../terminal-text.ts";

export function addScreen(program: Command, act: Act): void {
  program
    .command("screen")
    .description("print what an open thread's terminal shows now")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--ansi", "with colours")
    .addHelpText(
      "after",
      examples(
        "threadmux screen shop",
        "threadmux screen --ansi shop",
        "threadmux screen --json shop            also its size, cursor and title",
      ),
    )
    .action((thread: string, options: { ansi?: boolean }, command: Command) =>
      act(command, (context) => screen(context, thread, options.ansi === true)),
    );
}

async function screen({ client, out, isJson }: Context, wanted: string, isAnsi: boolean): Promise<number> {
  const api = client();
  const { threadId } = await findThread(api, wanted);
  const reply = await api.getScreen(threadId, { format: isAnsi ? "ansi" : "text" });
  if (isJson) {
    await out.json(reply);
    return EXIT.ok;
  }
  const rows = reply.screen.trimEnd().split("\n");
  const plain = rows.map((row) => stripVTControlCharacters(row).trimEnd());
  const text = withAddresses(rows, reply.links ?? [], plain).join("\n");
  if (text === "") return EXIT.ok;
  if (!isAnsi) {
    await out.line(cleanLines(text));
  } else {
    const filter = drawingOnly();
    await out.write(`${filter.push(text)}${filter.end()}\n`);
  }
  return EXIT.ok;
}
