/** What people do with an agent while it goes on: interrupt, pause, resume, compact, mode, model, limit. */
import type { Command } from "commander";
import type { ControlRequest } from "../../shared/agent/api.ts";
import { addLimitOptions, type LimitOptions, limitChanges } from "../agents/limits.ts";
import { type Act, examples, THREAD_ARGUMENT } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { findAgent } from "../find-thread.ts";

export function addControls(program: Command, act: Act): void {
  const add = (name: string, description: string) =>
    program.command(name).description(description).argument("<thread>", THREAD_ARGUMENT);
  const run = (command: Command, thread: string, make: () => ControlRequest) =>
    act(command, (context) => control(context, thread, make()));

  add("interrupt", "end an agent's turn; it stays, and takes the next message")
    .addHelpText("after", examples("threadmux interrupt 12"))
    .action((thread: string, _: unknown, command: Command) =>
      run(command, thread, () => ({ control: "interrupt" })),
    );
  add("pause", "hold an agent: its turn is cut off, nothing starts before `resume`, asks can be answered")
    .addHelpText("after", examples("threadmux pause 12"))
    .action((thread: string, _: unknown, command: Command) =>
      run(command, thread, () => ({ control: "pause" })),
    );
  add("resume", "let an agent go on after a pause or a failure")
    .argument("[text...]", "with this message")
    .addHelpText("after", examples("threadmux resume 12", "threadmux resume 12 but leave the tests alone"))
    .action((thread: string, words: string[], _: unknown, command: Command) =>
      run(command, thread, () => ({
        control: "resume",
        ...(words.length === 0 ? {} : { input: { text: words.join(" ") } }),
      })),
    );
  add("compact", "make an agent's context shorter")
    .argument("[keep...]", "what it is to keep in mind")
    .addHelpText("after", examples("threadmux compact 12", "threadmux compact 12 the names of the tables"))
    .action((thread: string, keep: string[], _: unknown, command: Command) =>
      run(command, thread, () => ({
        control: "compact",
        ...(keep.length === 0 ? {} : { text: keep.join(" ") }),
      })),
    );
  add("mode", "change an agent's permission mode")
    .argument("<mode>", "one that the agent knows: default, plan, acceptEdits, …")
    .addHelpText("after", examples("threadmux mode 12 plan"))
    .action((thread: string, modeId: string, _: unknown, command: Command) =>
      run(command, thread, () => ({ control: "mode", modeId })),
    );
  add("model", "change an agent's model")
    .argument("<model>", "one that the agent knows")
    .addHelpText("after", examples("threadmux model 12 haiku"))
    .action((thread: string, model: string, _: unknown, command: Command) =>
      run(command, thread, () => ({ control: "model", model })),
    );
  add("trust", "trust what an agent has read from outside: it asks no more about all that it does")
    .addHelpText("after", examples("threadmux trust 12"))
    .action((thread: string, _: unknown, command: Command) =>
      run(command, thread, () => ({ control: "unmark" })),
    );
  addLimitOptions(
    add("limit", "change what an agent may use up in all before it asks whether to go on"),
    "none",
  )
    .addHelpText("after", examples("threadmux limit 12 --max-usd 5", "threadmux limit 12 --max-turns none"))
    .action((thread: string, options: LimitOptions, command: Command) =>
      run(command, thread, () => ({ control: "limit", limits: limitChanges(options) })),
    );
}

async function control(context: Context, wanted: string, request: ControlRequest): Promise<number> {
  const client = context.client();
  const { threadId } = await findAgent(client, wanted);
  await client.controlAgent(threadId, request);
  if (context.isJson) await context.out.json({ accepted: true, threadId, control: request.control });
  return EXIT.ok;
}
