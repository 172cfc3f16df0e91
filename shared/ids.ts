/** The ids of the two worlds: what each may look like. */
import * as z from "zod";

/** A user, channel, thread or message of Discord's. */
export const DISCORD_ID = /^\d{17,20}$/;

export const discordIdSchema = z.string().regex(DISCORD_ID, "must be an id of Discord's: 17 to 20 digits");
