/** `message`: an agent writes to another one of its family. */
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import { anyThreadNameSchema } from "../../shared/ids.ts";
import type { Homes } from "../threads/homes.ts";
import type { Children } from "./children.ts";
import type { Messages } from "./messages.ts";
import type { Tool } from "./tool.ts";

const PARENT = "parent";
const MAX_CHARACTERS = 8_000;

const message = z.strictObject({
  threadId: anyThreadNameSchema.describe(`As list_threads told it; "${PARENT}" is who spawned you`),
  text: z
    .string()
    .max(MAX_CHARACTERS)
    .refine((text) => text.trim() !== "", "must not be empty")
    .describe("Longer things belong into a file that the other one can read"),
});

export function messageTool({
  messages,
  children,
  homes,
  isFor,
}: {
  messages: Messages;
  children: Children;
  homes: Pick<Homes, "find">;
  isFor: NonNullable<Tool["isFor"]>;
}): Tool {
  return {
    name: "message",
    right: "type",
    isFor,
    description:
      "Writes to another agent of your family: your parent, a child of yours, or any other that descends from the same first agent. It reads it between two of its steps, or begins a turn. People see it in both threads. Write only what the other one needs: no thanks, no receipts.",
    inputSchema: message,
    run: async ({ threadId: from, callId, input }) => {
      const { threadId: wanted, text } = message.parse(input);
      const to = wanted === PARENT ? children.parentOf(from) : homes.find(wanted);
      if (to === undefined)
        throw new AppError(
          "not_found",
          wanted === PARENT
            ? "No thread spawned you."
            : `There is no thread ${JSON.stringify(wanted)} that you know.`,
        );
      const { to: reader, held } = await messages.send(from, { to, text, callId });
      const name = `#${reader.number ?? "?"} (${reader.threadId})`;
      if (held === "rights")
        return `${name} may do more than you, so a person is asked there whether it is to read this. Do not wait for it.`;
      if (held === "hops")
        return `You have written to each other often without a person, so one is asked whether ${name} is to read this. Come to an end.`;
      return `Sent to ${name}, which is ${reader.status}.`;
    },
  };
}
