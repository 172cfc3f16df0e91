/** Where the hook's door listens, if anywhere: its settings. */
import * as z from "zod";

export const hookSettings = {
  HOOK_HOST: z
    .string()
    .default("127.0.0.1")
    .describe(
      "The address where the hook's door listens, if `HOOK_PORT` is set. Put a proxy that speaks TLS before it.",
    ),
  HOOK_PORT: z.coerce
    .number("must be a whole number from 0 to 65535")
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe(
      "The port where the hook's door listens: programs elsewhere start jobs with `POST /hook/<name>` there, and nothing else is served, see [hooks.md](hooks.md). If it is not set: the door is shut.",
    ),
};

export interface HookPlace {
  host: string;
  /** 0 takes a free one. */
  port: number;
}

export function findHookPlace(values: {
  HOOK_HOST: string;
  HOOK_PORT?: number | undefined;
}): HookPlace | undefined {
  const { HOOK_HOST: host, HOOK_PORT: port } = values;
  return port === undefined ? undefined : { host, port };
}

/** What is wrong with them beside each other, or beside the sidecar's own place. */
export function problemsOfHooks(env: Record<string, string | undefined>): string[] {
  const { HOOK_HOST, HOOK_PORT, VM_PORT = "3001" } = env;
  if (HOOK_PORT === undefined)
    return HOOK_HOST === undefined ? [] : ["HOOK_PORT: missing; HOOK_HOST is set, so choose a port"];
  const isSame = Number(HOOK_PORT) !== 0 && Number(HOOK_PORT) === Number(VM_PORT);
  return isSame ? ["HOOK_PORT: must not be VM_PORT: the door of hooks is one of its own"] : [];
}
