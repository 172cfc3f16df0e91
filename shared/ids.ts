/** The ids of the two worlds: what each may look like. */

/** A user, channel, thread or message of Discord's. */
export const DISCORD_ID = /^\d{17,20}$/;
