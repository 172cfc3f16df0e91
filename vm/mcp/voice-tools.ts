/** The tools of an agent whose own words are private: `message` says something, `done` says that there is nothing to say. */
import * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { parseThreadAddress, printAddress, printThreadAddress } from "../../shared/principal.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Homes } from "../threads/homes.ts";
import type { MayUse } from "./may-use.ts";
import type { Messages } from "./messages.ts";
import type { KeepFile } from "./send-file.ts";
import type { Tool } from "./tool.ts";
import type { Voice } from "./voice.ts";

const MAX_CHARACTERS = 10_000;
const OPS = printAddress({ channel: "ops" });
const ALICE = printAddress({ channel: "ops", person: "alice" });

/** The room that the agent is a member of. */
const ROOM = "room";

/** The most files of one message. */
const MAX_FILES = 4;

const message = z.strictObject({
  to: z
    .string({ error: `is needed: an address as your inputs have it, such as ${ALICE}` })
    .max(200, "must be an address as your inputs have it: this is too long for one")
    .describe(
      `An address as inputs have it: ${OPS}, ${ALICE} (answers her), ${printThreadAddress("#12")}; ${ROOM} is the room that you are in`,
    ),
  content: z
    .string({ error: "is needed: what you say, in Markdown" })
    .max(
      MAX_CHARACTERS,
      `must have at most ${MAX_CHARACTERS} characters: say it shorter, or in several messages`,
    )
    .refine((text) => text.trim() !== "", "must not be empty"),
  silent: z.boolean().optional().describe("Nobody is notified"),
  files: z
    .array(z.string().min(1, "must each be a path").max(4_096, "must each have at most 4,096 characters"))
    .max(MAX_FILES, `must be at most ${MAX_FILES}: send the others with another message`)
    .optional()
    .describe("Files of the working directory that go with it to a channel or a person, at most 10 MiB each"),
  replyTo: z
    .string()
    .regex(/^\d\d:\d\d$/, "must be a time as your inputs have it, such as 09:12")
    .optional()
    .describe(
      "The time of the input that it answers, if the person in `to` has written several; without it the last",
    ),
});
const done = z.strictObject({
  why: z.string().max(500).optional(),
  end: z.boolean().optional().describe("In a room, in your turn: you propose that the conversation ends"),
});

export interface VoiceToolsOptions {
  voice: Voice;
  messages: Messages;
  homes: Pick<Homes, "find">;
  rooms: Pick<Rooms, "say" | "pass">;
  childEnds: { watch(childId: ThreadId): void };
  /** Whether a thread's agent speaks with a tool alone. */
  isFor: NonNullable<Tool["isFor"]>;
  mayUse: MayUse;
  keepFile: KeepFile;
}

export function voiceTools({
  voice,
  rooms,
  messages,
  homes,
  childEnds,
  isFor,
  mayUse,
  keepFile,
}: VoiceToolsOptions): Tool[] {
  return [
    {
      name: "message",
      // The address says where it may speak in Discord: a person to whom it owes an answer gets it, whoever else wrote.
      right: "none",
      isFor,
      description:
        "The only way in which people and other agents hear you: your own text is private. `to` is an address as your inputs have it. An answer to somebody goes to their address.",
      inputSchema: message,
      run: async ({ threadId, callId, input }) => {
        const { to, content, silent = false, replyTo, files = [] } = message.parse(input);
        const thread = parseThreadAddress(to);
        const isInChannel = to !== ROOM && thread === undefined;
        if (files.length > 0 && !isInChannel)
          throw new AppError(
            "invalid_request",
            "files: go to channels and people alone; tell another agent a path that it can read.",
          );
        if (replyTo !== undefined && !isInChannel)
          throw new AppError("invalid_request", "replyTo: is for people in channels; leave it out.");
        if (to === ROOM) {
          await mayUse(threadId, "type");
          await rooms.say(threadId, { text: content, callId });
          return "Said in the room. End your turn if nothing else is to be done.";
        }
        if (thread === undefined) {
          if (files.length > 0) await mayUse(threadId, "read");
          const keepOne = async (path: string) => (await keepFile(threadId, path)).name;
          const id = await voice.say(threadId, {
            ...{ to, content, isSilent: silent, callId, replyTo, files, keepFile: keepOne },
          });
          return `Queued as m${id} for ${to}.`;
        }
        await mayUse(threadId, "type");
        const reader = homes.find(thread);
        if (reader === undefined) throw new AppError("not_found", `to: there is no ${to} that you know.`);
        const { held } = await messages.send(threadId, { to: reader, text: content, callId });
        childEnds.watch(reader);
        return held
          ? `A person is asked whether ${to} is to read this. Do not wait for it.`
          : `Sent to ${to}.`;
      },
    },
    {
      name: "done",
      right: "none",
      isFor,
      description:
        "Says that there is nothing to say to those whose messages you have read. Call it if none of them needs an answer.",
      inputSchema: done,
      run: async ({ threadId, callId, input }) => {
        const { why, end = false } = done.parse(input);
        await rooms.pass(threadId, { ends: end, callId });
        await voice.done(threadId, callId, why);
        return "Noted. End your turn if nothing else is to be done.";
      },
    },
  ];
}
