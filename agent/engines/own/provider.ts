/**
 * A provider, as its file in `providers/` says it: where it is, what it is told beside the conversation, and how its
 * messages are made of the transcript. A person's own files stand beside ours, and before one of ours of the same name.
 */
import * as z from "zod";
import type { ProviderFile } from "../../../shared/agent/provider-files.ts";
import { mappingSchema, optionsSchema, required } from "./mapping.ts";
import { findUnfit } from "./mapping-check.ts";
import anthropic from "./providers/anthropic.json" with { type: "json" };
import google from "./providers/google.json" with { type: "json" };
import openai from "./providers/openai.json" with { type: "json" };
import openaiCompatible from "./providers/openai-compatible.json" with { type: "json" };

/** The wire formats that can be spoken: OpenAI's is its responses API, a compatible server's chat completions. */
export const WIRES = ["anthropic", "openai", "google", "openai-compatible"] as const;
export type Wire = (typeof WIRES)[number];

/** In the order in which a usual one is looked for. */
const OURS: Readonly<Record<string, object>> = {
  anthropic,
  openai,
  google,
  "openai-compatible": openaiCompatible,
};

const word = z.string(required("a text")).min(1, "must not be empty");
const variable = z
  .string(required("the name of a variable"))
  .regex(/^[A-Z][A-Z0-9_]*$/, "must be the name of a variable, such as GROQ_API_KEY");
const flag = z.boolean(required("true or false"));

const providerSchema = z.strictObject(
  {
    /** For people. */
    title: word,
    wire: z.enum(WIRES, required(`one of ${WIRES.join(", ")}`)),
    /** The variables of its key, */
    key: variable,
    needsKey: flag,
    /** and of its address, for another one than `baseURL`. */
    address: variable,
    /** Null: the one that the package for its wire format knows, if it knows one. */
    baseURL: z.url(required("an address, or null")).nullable(),
    /** Its paths begin with this; an address may name it or leave it out. */
    version: word,
    /** Null: there is no usual one. */
    model: word.nullable(),
    /** A person's own: what it does wrong nobody else tells. */
    isLocal: flag,
    /** Its own options of a request, by how much the model is to think. */
    options: z.strictObject(
      { none: optionsSchema, low: optionsSchema, medium: optionsSchema, high: optionsSchema },
      required("an object"),
    ),
    messages: mappingSchema,
  },
  required("an object"),
);
export type Provider = z.infer<typeof providerSchema> & { name: string };

/** Why no model can be called: a sentence for a person. */
export class SetupError extends Error {}

export class Providers {
  readonly #own: ReadonlyMap<string, ProviderFile>;
  readonly #parsed = new Map<string, Provider>();

  /** @param own a person's */
  constructor(own: readonly ProviderFile[] = []) {
    this.#own = new Map(own.map((file) => [file.name, file]));
  }

  /** Ours first. */
  get names(): string[] {
    return [...new Set([...Object.keys(OURS), ...this.#own.keys()])];
  }

  /** @throws SetupError that names the file and its part, if it can't be used or if there is none of this name */
  get(name: string): Provider {
    const known = this.#parsed.get(name);
    if (known) return known;
    const parsed = { ...this.#parse(name), name };
    this.#parsed.set(name, parsed);
    return parsed;
  }

  /** All that can be used. */
  get usable(): Provider[] {
    return this.names.flatMap((name) => this.#find(name) ?? []);
  }

  /** The variables of all keys; of a file that can't be used, all that it seems to name. */
  get keys(): string[] {
    const unusable = [...this.#own.values()].filter(({ name }) => !this.#find(name));
    const named = unusable.flatMap(({ text = "" }) => text.match(/[A-Z][A-Z0-9_]*/g) ?? []);
    return [...this.usable.map(({ key }) => key), ...named];
  }

  #find(name: string): Provider | undefined {
    try {
      return this.get(name);
    } catch (error) {
      if (error instanceof SetupError) return undefined;
      throw error;
    }
  }

  #parse(name: string) {
    const file = this.#own.get(name);
    if (!file) return parseProvider(OURS[name], name);
    if (file.text === undefined) throw new SetupError(`${file.path} can't be read: ${file.problem}.`);
    let said: unknown;
    try {
      said = JSON.parse(file.text);
    } catch (error) {
      throw new SetupError(`${file.path} is no JSON: ${(error as Error).message}.`);
    }
    const parsed = parseProvider(said, file.path);
    const unfit = findUnfit(parsed.messages);
    if (unfit !== undefined) throw new SetupError(`${file.path}: ${unfit}.`);
    return parsed;
  }
}

/** @throws SetupError that names the first part that is missing or wrong */
export function parseProvider(said: unknown, path: string): z.infer<typeof providerSchema> {
  const { data, error } = providerSchema.safeParse(said);
  if (data) return data;
  const [issue] = error.issues;
  const part = issue?.path.join(".") ?? "";
  throw new SetupError(`${path}: ${part === "" ? "it" : part} ${issue?.message}.`);
}
