import type { Command } from "commander";
import { isOpen, type Thread } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { type LineTarget, openLine } from "../attach/line.ts";
import { LocalTerminal } from "../attach/local-terminal.ts";
import { type Leaving, sit } from "../attach/sit.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { DEFAULT_DETACH_KEYS, parseDetachKeys } from "../detach-keys.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { describeEnd } from "../thread-end.ts";

export interface AttachOptions {
  readOnly?: boolean;
  detachKeys: string;
}

export function addAttach(program: Command, act: Act): void {
  program
    .command("attach")
    .description("sit at a thread's terminal")
    .argument("<thread>", THREAD_ARGUMENT)
    .option("-r, --read-only", "look only; nothing that you type goes in")
    .option("--detach-keys <keys>", "the keys that leave it running", DEFAULT_DETACH_KEYS)
    .addHelpText(
      "after",
      `${examples(
        "threadmux attach shop",
        "threadmux attach --read-only shop",
        "threadmux attach --detach-keys C-] shop",
      )}

C-b d leaves: hold Ctrl, press b, let go, press d. C-b twice types one C-b; every other key goes to the program.
Within a tmux or screen of your own that takes C-b, choose other keys. Closing the terminal leaves too. If the connection
breaks or the sidecar restarts, it comes back by itself; Ctrl-C ends the waiting. The thread keeps its own size (threadmux resize changes it): a larger terminal shows it with a margin, a smaller one a part of it.`,
    )
    .action((thread: string, options: AttachOptions, command: Command) =>
      act(command, (context) => attach(context, thread, options)),
    );
}

/**
 * @param name the option or command that needs a terminal
 * @param instead what does the same in a pipe
 * @throws AppError `invalid_request` where nobody sits at a terminal.
 */
export function checkTerminal(
  { streams, out, isJson }: Context,
  name = "attach",
  instead = "tail -f and send",
): void {
  if (isJson) throw new AppError("invalid_request", `--json: not with ${name}, which is for a person`);
  if (streams.stdin.isTTY !== true || !out.isTty) {
    throw new AppError("invalid_request", `${name}: needs a terminal; in a pipe, use ${instead}`);
  }
}

async function attach(context: Context, wanted: string, options: AttachOptions): Promise<number> {
  checkTerminal(context);
  parseDetachKeys(options.detachKeys);
  const thread = await findThread(context.client(), wanted);
  const { threadId } = thread;
  if (hasNothingToSitAt(thread)) {
    throw new AppError(
      "thread_ended",
      `Thread ${threadId} has nothing to sit at: ${describeEnd(thread)}; its output is there: threadmux tail ${threadId}`,
    );
  }
  const how = await sitAt(context, threadId, options);
  return how === "interrupted" ? EXIT.interrupted : EXIT.ok;
}

/** Its process has ended. */
export function hasNothingToSitAt({ status }: Pick<Thread, "status">): boolean {
  return !isOpen(status) || status === "exited";
}

/** Sits at a thread until the person leaves or it is over, and tells the person which. @throws AppError */
export async function sitAt(
  { settings, env, streams, note }: Context,
  threadId: string,
  options: AttachOptions,
): Promise<Leaving["how"]> {
  const say = (text: string) => note(`[${threadId}: ${cleanLine(text)}]`);
  await say(`${options.detachKeys} leaves it running`);
  const isReadOnly = options.readOnly === true;
  const target: LineTarget = {
    url: settings.url,
    token: settings.getToken(),
    threadId,
    mode: isReadOnly ? "view" : "type",
    isPlain: !/^(?:truecolor|24bit)$/.test(env["COLORTERM"] ?? ""),
  };
  const leaving = await sit({
    terminal: new LocalTerminal(streams.stdin, streams.stdout),
    detachKeys: parseDetachKeys(options.detachKeys),
    isReadOnly,
    open: (viewport, events, signal) => openLine(target, viewport, events, signal),
    onLost: async (reason, unsentBytes) => {
      if (unsentBytes > 0) await say(describeUnsent(unsentBytes));
      await say(`${reason} Waiting for the sidecar; ${options.detachKeys} leaves`);
    },
  });
  if (leaving.how === "over") {
    await say(leaving.text);
    return leaving.how;
  }
  if (leaving.unsentBytes > 0) await say(describeUnsent(leaving.unsentBytes));
  await say(`goes on; threadmux attach ${threadId} comes back`);
  return leaving.how;
}

function describeUnsent(bytes: number): string {
  return `the last ${bytes} bytes of what was typed did not go in`;
}
