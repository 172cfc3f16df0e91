import type { Command } from "commander";
import { isOpen, type Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { DEFAULT_DETACH_KEYS, parseDetachKeys } from "../detach-keys.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { TmuxSocket } from "../tmux-client.ts";
import { describeEnd } from "./tail.ts";

const LOOK_EVERY_MS = 500;

interface AttachOptions {
  readOnly?: boolean;
  detachKeys: string;
}

export function addAttach(program: Command, act: Act): void {
  program
    .command("attach")
    .description("sit at a thread's terminal, on the sidecar's own machine")
    .argument("<thread>", "its id or the start of it")
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
Within a tmux or screen of your own that takes C-b, choose other keys. Closing the terminal leaves too. The thread keeps
its own size (threadmux resize changes it): a larger terminal shows it with a margin, a smaller one a part of it.`,
    )
    .action((thread: string, options: AttachOptions, command: Command) =>
      act(command, (context) => attach(context, thread, options)),
    );
}

/** @throws AppError `invalid_request` where nobody sits at a terminal. */
export function checkTerminal({ streams, out, isJson }: Context): void {
  if (isJson) throw new AppError("invalid_request", "--json: not with attach, which is for a person");
  if (streams.stdin.isTTY !== true || !out.isTty) {
    throw new AppError("invalid_request", "attach: needs a terminal; in a pipe, use tail -f and send");
  }
}

export async function attach(context: Context, wanted: string, options: AttachOptions): Promise<number> {
  checkTerminal(context);
  const detachKeys = parseDetachKeys(options.detachKeys);
  const { settings, env, streams, note } = context;
  const client = context.client();
  const thread = await findThread(client, wanted);
  const { threadId } = thread;
  if (!isOpen(thread.status) || thread.status === "exited") {
    throw new AppError(
      "thread_ended",
      `Thread ${threadId} has nothing to sit at: ${describeEnd(thread)}; its output is there: threadmux tail ${threadId}`,
    );
  }
  const session = `thread-${threadId}`;
  const tmux = new TmuxSocket(settings.stateDir, env);
  if (!(await tmux.hasSession(session))) {
    throw new AppError(
      "unavailable",
      `STATE_DIR: the tmux server in ${settings.stateDir} has no ${session}; is it that of the sidecar at ${settings.url}?`,
    );
  }
  await note(`[${threadId}: ${options.detachKeys} leaves it running]`);
  const over = new AbortController();
  const watching = new AbortController();
  const watch = watchEnd(client, threadId, watching.signal).then((end) => {
    if (end) over.abort();
    return end;
  });
  let how: "detached" | "ended";
  try {
    const { stdin, stdout } = streams;
    const isReadOnly = options.readOnly === true;
    how = await tmux.attach(session, { isReadOnly, detachKeys, stdin, stdout, until: over.signal });
  } finally {
    watching.abort();
  }
  const end = await watch;
  if (end) await note(`[${threadId}: ${describeEnd(end)}]`);
  else if (how === "ended") await note(`[${threadId}: its session has ended]`);
  else await note(`[${threadId}: goes on; threadmux attach ${threadId} comes back]`);
  return EXIT.ok;
}

/** The thread once nothing runs in it any more: a pane whose process has ended stays, and takes no keys. */
async function watchEnd(
  client: SidecarClient,
  threadId: string,
  signal: AbortSignal,
): Promise<Thread | undefined> {
  for (;;) {
    await pause(LOOK_EVERY_MS, signal);
    if (signal.aborted) return undefined;
    // A sidecar that is away says nothing about the thread.
    const thread = await client.getThread(threadId).catch(() => undefined);
    if (thread && (thread.status === "exited" || !isOpen(thread.status))) return thread;
  }
}
