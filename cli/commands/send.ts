import type { Command } from "commander";
import { AppError } from "../../shared/errors.ts";
import { parseKey } from "../../shared/key-words.ts";
import { kindIn } from "../../shared/kinds.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import type { CliKinds } from "../kinds/kinds.ts";

interface SendOptions {
  enter: boolean;
  /** Undefined if neither option is there. */
  paste?: boolean;
  key: string[];
  nextTurn?: boolean;
  attach: string[];
}

export function addSend(program: Command, act: Act, kinds: CliKinds): void {
  program
    .command("send")
    .description("type into a thread's process, or give an agent its next message")
    .argument("<thread>", THREAD_ARGUMENT)
    .argument("[text...]", "what to type, Enter after it; - types standard input")
    .option("--no-enter", "no Enter after the text")
    .option("--paste", "the text is one paste: in one piece if the program asked for pastes, else by lines")
    .option("--no-paste", "the text is keys, and standard input is typed line by line as it comes")
    .option("-k, --key <name>", "press a key: ctrl-c, up, esc, alt-b, F5; as often as you like", collect, [])
    .option("--next-turn", "an agent gets it when its turn has ended, not in the midst of it")
    .option(
      "-a, --attach <file>",
      "give an agent a file, a picture as a picture; up to 10 times",
      collect,
      [],
    )
    .addHelpText(
      "after",
      examples(
        "threadmux send shop npm test",
        "threadmux send shop --no-enter y",
        "threadmux send shop --key C-c",
        "threadmux send shop --key Up --key Enter",
        "threadmux send shop -- ls -la           a text with dashes goes after --",
        "threadmux send shop - < answers.txt     an agent gets all of it as one message",
        "threadmux send 12 and run the tests     agent #12, also while it works",
        "threadmux send --next-turn 12 then commit",
        "threadmux send 12 --attach shot.png why is this so wide",
      ),
    )
    .action((thread: string, words: string[], options: SendOptions, command: Command) =>
      act(command, (context) => send(context, kinds, thread, words, options)),
    );
}

function collect(key: string, before: string[]): string[] {
  return [...before, key];
}

async function send(
  context: Context,
  kinds: CliKinds,
  wanted: string,
  words: string[],
  options: SendOptions,
): Promise<number> {
  const keys = options.key.map(parseKey);
  if (words.length > 0 && keys.length > 0) {
    throw new AppError("invalid_request", "--key: not together with text; send one after the other");
  }
  if (words.length === 0 && keys.length === 0 && options.attach.length === 0) {
    throw new AppError("invalid_request", "text: missing; give a text, --key, or - for standard input");
  }
  const client = context.client();
  const thread = await findThread(client, wanted);
  const { threadId } = thread;
  const isInput = words.length === 1 && words[0] === "-";
  const said = {
    ...options,
    keys,
    text: isInput ? undefined : words.join(" "),
    stdin: context.streams.stdin,
  };
  const sent = await kindIn(kinds, thread.type).send(client, threadId, said);
  if (context.isJson) await context.out.json({ sent: true, threadId, inputs: sent });
  return EXIT.ok;
}
