/** The ids under which the sidecar has what people wrote. */
import { discordIdSchema } from "../../shared/ids.ts";

/** The relay hands a message on under Discord's own id. Undefined: the words came another way, or are a part of it. */
export function findMessageId(inputId: string): string | undefined {
  return discordIdSchema.safeParse(inputId).data;
}
