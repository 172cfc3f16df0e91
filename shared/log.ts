/** JSON log lines on standard error; never a secret, never a line of terminal output. */
import { pino } from "pino";

export type Log = pino.Logger;

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** The errors of discord.js carry what was sent, which is terminal output, and where. */
const REDACTED = [
  "token",
  "*.token",
  "relayToken",
  "*.relayToken",
  "*.headers.authorization",
  "req.headers",
  "err.requestBody",
  "err.url",
];
/** What follows in an address: whoever has it answers a command in the bot's name. */
const BEFORE_TOKEN = /(\/(?:interactions|webhooks)\/\d+\/)[^/?]+/;

export function createLog(
  name: string,
  level: (typeof LOG_LEVELS)[number] = "info",
  destination: pino.DestinationStream = pino.destination({ dest: 2, sync: true }),
): Log {
  const censor = (value: unknown, path: string[]) =>
    path.at(-1) === "url" ? String(value).replace(BEFORE_TOKEN, "$1[Redacted]") : "[Redacted]";
  return pino({ name, level, base: null, redact: { paths: REDACTED, censor } }, destination);
}
