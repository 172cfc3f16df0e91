/** What an agent may use up, as `new` and `limit` take it from their options. */
import type { Command } from "commander";
import {
  LIMIT_NAMES,
  type LimitChanges,
  type LimitName,
  limitChangesSchema,
} from "../../shared/agent/limit-schema.ts";
import { AppError } from "../../shared/errors.ts";

export interface LimitOptions {
  maxTurns?: string;
  maxCalls?: string;
  maxTokens?: string;
  maxUsd?: string;
  maxSeconds?: string;
}

const OPTIONS: Record<LimitName, { option: keyof LimitOptions; flag: string; what: string }> = {
  turns: { option: "maxTurns", flag: "--max-turns", what: "turns" },
  calls: { option: "maxCalls", flag: "--max-calls", what: "calls of the model" },
  tokens: { option: "maxTokens", flag: "--max-tokens", what: "tokens of the model" },
  spendUsd: { option: "maxUsd", flag: "--max-usd", what: "dollars" },
  seconds: { option: "maxSeconds", flag: "--max-seconds", what: "seconds of work" },
};

/** What the sidecar calls these options, in an error of its own. */
export const LIMIT_OPTION_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  LIMIT_NAMES.map((name) => [`agent.limits.${name}`, OPTIONS[name].flag]),
);

/** @param none the word that takes a limit away, if there may be one */
export function addLimitOptions(command: Command, none?: "none"): Command {
  for (const { flag, what } of Object.values(OPTIONS)) {
    const removal = none === undefined ? "" : `; ${none}: no limit`;
    command.option(`${flag} <number>`, `of an agent: it asks after so many ${what}${removal}`);
  }
  return command;
}

/** The limits that were given. @throws AppError `invalid_request` naming the option */
export function limitChanges(options: LimitOptions, { mayRemove = true } = {}): LimitChanges {
  const given = LIMIT_NAMES.flatMap((name): [LimitName, number | null][] => {
    const { option, flag } = OPTIONS[name];
    const text = options[option];
    if (text === undefined) return [];
    if (mayRemove && text === "none") return [[name, null]];
    const value = /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : Number.NaN;
    const parsed = limitChangesSchema().shape[name].safeParse(value);
    if (parsed.success) return [[name, value]];
    throw new AppError("invalid_request", `${flag}: ${parsed.error.issues[0]?.message ?? "is no number"}`);
  });
  return Object.fromEntries(given);
}
