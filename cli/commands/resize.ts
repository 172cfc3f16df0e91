import type { Command } from "commander";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findThread } from "../find-thread.ts";
import { parseSize } from "../size.ts";

export function addResize(program: Command, act: Act): void {
  program
    .command("resize")
    .description("change the size of a thread's terminal, for everybody who looks at it")
    .argument("<thread>", THREAD_ARGUMENT)
    .argument("<size>", "<cols>x<rows>, 20 to 500 by 5 to 200")
    .addHelpText("after", examples("threadmux resize shop 120x40"))
    .action((thread: string, size: string, _options: unknown, command: Command) =>
      act(command, (context) => resize(context, thread, size)),
    );
}

async function resize({ client, out, isJson }: Context, wanted: string, text: string): Promise<number> {
  const size = parseSize("size", text);
  const api = client();
  const { threadId } = await findThread(api, wanted);
  await api.resizeThread(threadId, size);
  if (isJson) await out.json({ resized: true, threadId, ...size });
  return EXIT.ok;
}
