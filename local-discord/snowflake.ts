/** Discord's ids: milliseconds since 2015 in the upper bits, so that they sort by time. */
import type { Snowflake } from "./types.ts";

const DISCORD_EPOCH_MS = 1_420_070_400_000;

/** The smallest id made at `ms`. 19 digits for today's clock; discord.js only recognises 17 to 19. */
export function snowflakeAt(ms: number): bigint {
  return BigInt(Math.max(0, Math.trunc(ms) - DISCORD_EPOCH_MS)) << 22n;
}

/** When the id was made, in milliseconds since 1970. */
export function snowflakeTime(id: Snowflake): number {
  return Number(BigInt(id) >> 22n) + DISCORD_EPOCH_MS;
}

/** The next id: never below the clock and always above `last`. */
export function nextSnowflake(ms: number, last: Snowflake | undefined): Snowflake {
  const atClock = snowflakeAt(ms);
  const afterLast = last === undefined ? 0n : BigInt(last) + 1n;
  return String(atClock > afterLast ? atClock : afterLast);
}

export function isSnowflake(text: string): boolean {
  return /^\d{1,20}$/.test(text);
}

/** For sorting: oldest first. */
export function compareIds(a: Snowflake, b: Snowflake): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
