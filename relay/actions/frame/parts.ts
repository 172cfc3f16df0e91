/** The parts of an action's id: how a value is written there, and read again. */
import * as z from "zod";
import { type DiscordId, discordIdSchema, type ThreadName, threadIdSchema } from "../../../shared/ids.ts";

export interface Part<Value> {
  write(value: Value): string;
  /** Undefined if nothing is written so. */
  read(text: string): Value | undefined;
  /** Some values, the longest among them; a test sends them all through an id. */
  readonly examples: readonly Value[];
}

/** What a person has chosen, a list of indexes for each question. */
export type Choices = readonly (readonly number[])[];

/** As many options as a list has. */
export const MAX_LIST = 25;

function text(pattern: RegExp, examples: readonly string[]): Part<string> {
  return { write: (value) => value, read: (value) => (pattern.test(value) ? value : undefined), examples };
}

/** The id of a request, a turn or an undo, as the engine or the runner made it. */
export const someId = text(/^[\w.-]{1,80}$/, ["r1", "0f0e0d0c-0000-4000-8000-000000000000"]);
/** The id of an option, as the engine named it. */
export const optionId = text(/^\P{Cs}+$/u, ["once", "allow: a%3A.b", "ä€"]);
/** The id of a message in Discord. */
export const messageId: Part<DiscordId> = {
  write: (id) => id,
  read: (value) => discordIdSchema.safeParse(value).data,
  examples: z.array(discordIdSchema).parse(["123456789012345678", "12345678901234567890"]),
};
/** The id of a thread: ours, or Discord's. */
export const threadId: Part<ThreadName> = {
  write: (name) => name,
  read: (value) => threadIdSchema.safeParse(value).data,
  examples: z.array(threadIdSchema).parse(["fixer-2", "x".repeat(64)]),
};
/** The name of a job. */
export const jobName = text(/^[a-z][a-z0-9-]{0,39}$/, ["nightly", "x".repeat(40)]);
/** A directory below `REPOS_DIR`; a long one has no button. */
export const path = text(/^[^\0\n\p{Cs}]+$/u, [".", "shop/till: 2%"]);
export const fingerprint = text(/^[0-9a-f]{16}$/, ["0123456789abcdef"]);

/** A whole number of at most 15 digits. */
export const whole: Part<number> = {
  write: String,
  read: (value) => (/^\d{1,15}$/.test(value) ? Number(value) : undefined),
  examples: [0, 7, 999_999_999_999_999],
};

/** Names of keys, as tmux has them. */
export const keyNames: Part<readonly string[]> = {
  write: (keys) => keys.join(","),
  read: (value) => (/^[A-Za-z-]+(,[A-Za-z-]+)*$/.test(value) ? value.split(",") : undefined),
  examples: [["C-c"], ["Up", "Enter"]],
};

export function oneOf<Name extends string>(names: readonly Name[]): Part<Name> {
  return { write: (name) => name, read: (value) => names.find((name) => name === value), examples: names };
}

/** The steps before or after an event. */
export const stepsFrom: Part<{ beforeSeq: number } | { afterSeq: number }> = {
  write: (from) => ("beforeSeq" in from ? `b${from.beforeSeq}` : `a${from.afterSeq}`),
  read: (value) => {
    const seq = whole.read(value.slice(1));
    if (seq === undefined || !/^[ab]/.test(value)) return undefined;
    return value.startsWith("b") ? { beforeSeq: seq } : { afterSeq: seq };
  },
  examples: [{ beforeSeq: 12 }, { afterSeq: 999_999_999_999_999 }],
};

/** For each question the bits of what is chosen, in base 36: `5.2.0` is its first and third answer, the second, none. */
export const choices: Part<Choices> = {
  write: (chosen) =>
    chosen.map((indexes) => indexes.reduce((sum, i) => sum | (1 << i), 0).toString(36)).join("."),
  read: (value) => {
    if (!/^[0-9a-z]{1,5}(\.[0-9a-z]{1,5}){0,3}$/.test(value)) return undefined;
    return value.split(".").map((part) => {
      const mask = Number.parseInt(part, 36);
      return Array.from({ length: MAX_LIST }, (_, i) => i).filter((i) => (mask & (1 << i)) !== 0);
    });
  },
  examples: [[[]], [[0, 2], [1], []], [[24], [0, 24], [3], Array.from({ length: MAX_LIST }, (_, i) => i)]],
};

/** The question whose list it is, and what was chosen from all lists before. */
export const place: Part<{ question: number; before: Choices }> = {
  write: ({ question, before }) => `${question}.${choices.write(before)}`,
  read: (value) => {
    const [, question, state = ""] = /^(\d)\.(.+)$/.exec(value) ?? [];
    const before = question === undefined ? undefined : choices.read(state);
    return before && { question: Number(question), before };
  },
  examples: choices.examples.map((before, question) => ({ question, before })),
};
