/** The ids under which the sidecar has what people wrote. */
import { discordIdSchema } from "../../shared/ids.ts";

/** The Discord message behind an input; undefined if the words came another way, or are a later part of a message. */
export function findMessageId(inputId: string): string | undefined {
  return discordIdSchema.safeParse(inputId).data;
}
