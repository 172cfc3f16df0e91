/** JSON log lines on standard error; never a secret, never a line of terminal output. */
import { pino } from "pino";

export type Log = pino.Logger;

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export function createLog(name: string, level: (typeof LOG_LEVELS)[number] = "info"): Log {
  return pino(
    {
      name,
      level,
      base: null,
      // The errors of discord.js carry what was sent: terminal output.
      redact: ["token", "*.token", "*.headers.authorization", "req.headers", "err.requestBody"],
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
