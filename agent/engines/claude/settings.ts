/**
 * The settings that stand above the person's and the repository's, whatever those say. claude takes one `--settings`
 * alone, the last: one of the person's own arguments is made part of ours.
 */
import { join, resolve } from "node:path";
import * as z from "zod";
import type { ThreadConfig } from "../../../shared/agent/config.ts";
import { errorText } from "../../../shared/errors.ts";
import { lazy } from "../../../shared/lazy.ts";
import { readRegular } from "../../../shared/regular-file.ts";
import { askedRules, deniedRules } from "./guard.ts";

/** In the thread's folder: it may hold what the person's file holds, and arguments can be read by everybody. */
export const SETTINGS_FILE = "settings.json";
const FLAG = "--settings";
const MAX_BYTES = 1024 * 1024;

const rules = z.array(z.string()).optional();
const settingsSchema = lazy(() =>
  z.looseObject({
    permissions: z.looseObject({ allow: rules, deny: rules, ask: rules }).optional(),
    autoMemoryEnabled: z.boolean().optional(),
  }),
);
export type Settings = z.infer<ReturnType<typeof settingsSchema>>;

/**
 * Ours: what nobody may do, and what is asked about whatever is allowed. Unless it is allowed, no settings and no
 * request lead to the mode that asks for nothing. Pure.
 */
export function ownSettings({ allowBypass, stateDir }: ThreadConfig["launch"], isMarked = false): Settings {
  return {
    permissions: {
      deny: deniedRules(stateDir),
      ask: askedRules(isMarked),
      ...(!allowBypass && { disableBypassPermissionsMode: "disable" as const }),
    },
  };
}

/** Nothing of ours is lost, and of theirs nothing but what ours says otherwise. Pure. */
export function mergeSettings(theirs: Settings, ours: Settings): Settings {
  const both = (name: "deny" | "ask") => [
    ...(theirs.permissions?.[name] ?? []),
    ...(ours.permissions?.[name] ?? []),
  ];
  const lists = { deny: both("deny"), ask: both("ask") };
  return { ...theirs, ...ours, permissions: { ...theirs.permissions, ...ours.permissions, ...lists } };
}

/** What the person's own arguments name last, and the arguments without it. Pure. */
export function splitSettings(args: readonly string[]): { settings: string | undefined; rest: string[] } {
  const rest: string[] = [];
  let settings: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === FLAG) settings = args[++at];
    else if (arg.startsWith(`${FLAG}=`)) settings = arg.slice(FLAG.length + 1);
    else rest.push(arg);
  }
  return { settings, rest };
}

/** The person's settings: JSON, or a file of it. @throws Error if they can't be read */
export function readSettings({ dir, launch }: ThreadConfig): Settings {
  const { settings } = splitSettings(launch.args);
  if (settings === undefined) return {};
  const isJson = settings.trimStart().startsWith("{");
  const text = isJson ? settings : readRegular(resolve(dir, settings), MAX_BYTES).toString();
  return settingsSchema().parse(JSON.parse(text));
}

/**
 * The settings in the person's home, for what they ask back. None if they can't be read: claude says itself what it
 * can't read.
 */
export function readHomeSettings(configDir: string): Settings {
  try {
    const text = readRegular(join(configDir, "settings.json"), MAX_BYTES).toString();
    const parsed = settingsSchema().safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : {};
  } catch {
    return {};
  }
}

/** In words for a person, if their own settings can't be read. */
export function findSettingsProblem(config: ThreadConfig): string | undefined {
  try {
    readSettings(config);
    return undefined;
  } catch (error) {
    return `The settings that AGENT_ARGS names can't be read: ${errorText(error).slice(0, 300)}`;
  }
}
