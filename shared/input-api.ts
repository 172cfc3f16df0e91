/** The part of the API about what is typed into terminals and said to agents. */
import * as z from "zod";
import { inputIdSchema } from "./agent/api.ts";
import { attachmentNamesSchema } from "./agent/attachments.ts";
import { discordIdSchema } from "./ids.ts";
import { KEY_NAME } from "./key-name.ts";

export const inputRequestSchema = z.union([
  z.strictObject({
    text: z.string(),
    /** Whether Enter follows the text. */
    enter: z.boolean().default(true),
    /**
     * Whether the text is a paste; for terminals. A program that asked for pastes (DEC mode 2004) gets it in one piece,
     * without the control characters with which it could end before its end; any other program gets it line by line,
     * its tabs quoted or refused (`would_complete`) if a line editor would take them for a key. `auto`: a text of
     * several lines is a paste. `false`: every byte goes in as it is.
     */
    paste: z.literal([true, false, "auto"], 'must be true, false or "auto"').default("auto"),
    /** The same id a second time types nothing: what is sent again after a lost reply goes in once. */
    inputId: inputIdSchema.optional(),
    /** Agents only: a person did not type all of the text, so the agent's program reads no command and no @path in it. */
    plain: z.boolean().optional(),
    /** For agents: `next_turn` waits for the end of the running turn. */
    when: z.enum(["now", "next_turn"]).optional(),
    /** For agents: files that were uploaded before; with any, `text` may be empty. */
    attachments: attachmentNamesSchema.optional(),
    /** For agents with `agent.voice` `message`: the channel in Discord that a person wrote it in. */
    channelId: discordIdSchema.optional(),
  }),
  z.strictObject({
    key: z.string().regex(KEY_NAME, "must be a tmux key name such as C-c, Up, Escape, Enter, F5"),
  }),
]);
export type InputRequest = z.input<typeof inputRequestSchema>;
export const inputReplySchema = z.object({
  sent: z.literal(true),
  /** True where this `inputId` had gone in before. */
  duplicate: z.boolean().optional(),
  /** True if the terminal's program reads a line without showing it, as a password; only for a text with an `inputId`. */
  hidden: z.boolean().optional(),
});
export type InputReply = z.infer<typeof inputReplySchema>;
