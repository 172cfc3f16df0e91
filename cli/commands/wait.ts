/** Waits until something becomes true of a thread, for scripts. */
import type { Command } from "commander";
import { AppError } from "../../shared/errors.ts";
import { kindIn, kindOf } from "../../shared/kinds.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { findThread } from "../find-thread.ts";
import { WAITS } from "../kinds/kind.ts";
import type { CliKinds } from "../kinds/kinds.ts";
import { onLeave } from "../leave.ts";

export function addWait(program: Command, act: Act, kinds: CliKinds): void {
  program
    .command("wait")
    .summary("wait until an agent's turn or a thread ends, or an agent asks something")
    .description(
      "wait until an agent's turn has ended (turn), until the thread is over (end: a terminal's process has ended, an agent was ended), or until an agent asks something (ask)",
    )
    .argument("<thread>", THREAD_ARGUMENT)
    .option("--for <what>", "turn, end or ask (an agent: turn; a terminal: end)")
    .addHelpText(
      "after",
      `${examples(
        "threadmux wait 12 && threadmux tail 12",
        "threadmux wait 12 --for ask && threadmux asks 12",
        "timeout 600 threadmux wait shop --for end",
      )}

It exits at once if that is so already: with 0 if the turn ended well, 6 if its result does not fit its schema and 1
if not, with a process's own exit code, and with 1 if the turn ends and nothing was asked. Ctrl-C leaves; the thread
goes on.`,
    )
    .action((thread: string, { for: what }: { for?: string }, command: Command) =>
      act(command, (context) => wait(context, kinds, thread, what)),
    );
}

async function wait(
  context: Context,
  kinds: CliKinds,
  wanted: string,
  what: string | undefined,
): Promise<number> {
  const client = context.client();
  const known = WAITS.find((one) => one === what);
  if (what !== undefined && !known) throw invalid(`--for: must be one of ${WAITS.join(", ")}`);
  const thread = await findThread(client, wanted);
  const kind = kindIn(kinds, thread.type);
  const goal = known ?? kind.wait;
  const waitFor = kind.waits[goal];
  if (!waitFor) throw invalid(`--for: ${goal} is not for ${kindOf(thread).name}`);
  const stay = onLeave(() => {});
  try {
    return await waitFor(context, client, thread);
  } finally {
    stay();
  }
}

function invalid(message: string): AppError {
  return new AppError("invalid_request", message);
}
