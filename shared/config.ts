/** Environment → config: every problem is found in one pass and reported with the variable's name. */
import { existsSync } from "node:fs";
import type * as z from "zod";
import { errorText } from "./errors.ts";
import { makePrivate } from "./private-file.ts";

/** Raised by {@link parseEnv}; `problems` holds one line a variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** What is set: an empty value counts as not set, as in `NAME=` of an .env file. */
export function withoutBlanks(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value?.trim() ? [[name, value]] : [])),
  );
}

/** The names in a list that is separated by commas. */
export function splitNames(names: string): string[] {
  return names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/**
 * Parses `env` with a zod object whose keys are variable names.
 * @throws ConfigError with every problem, one line each.
 */
export function parseEnv<S extends z.ZodObject>(
  schema: S,
  env: Record<string, string | undefined>,
): z.infer<S> {
  const { values, problems } = tryEnv(schema, env);
  if (values) return values;
  throw new ConfigError(problems);
}

/** The same for who looks for more problems before all are told: `values` is there if `problems` is empty. */
export function tryEnv<S extends z.ZodObject>(
  schema: S,
  env: Record<string, string | undefined>,
): { values: z.infer<S> | undefined; problems: string[] } {
  const present = withoutBlanks(env);
  const { data: values, error } = schema.safeParse(present);
  const problems = (error?.issues ?? []).map((issue) => {
    const name = issue.path.join(".");
    const isMissing = name !== "" && present[name] === undefined;
    return `${name === "" ? "environment" : name}: ${isMissing ? `missing; ${issue.message}` : issue.message}`;
  });
  return { values, problems };
}

/**
 * Loads `.env` of the working directory if there is one; what is already set wins. It holds tokens, so that others
 * may not read it.
 * @throws ConfigError if they may, and that is not ours to change.
 */
export function loadDotEnv(): void {
  if (!existsSync(".env")) return;
  try {
    makePrivate(".env");
  } catch (error) {
    throw new ConfigError([errorText(error)]);
  }
  process.loadEnvFile(".env");
}

/** Refuses a Node.js that is too old, in words, before anything that needs a newer one runs. */
export function findNodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `Node.js 20.19 or newer is needed, this is ${version}`;
}
