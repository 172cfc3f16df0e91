/** Whose model is called, and how: by the names of environment variables that its own programs read too. */
import type { LanguageModel } from "ai";
import type { Params } from "../../../shared/agent/params.ts";
import { trimEndOf } from "../../../shared/trim-end.ts";
import type { Env } from "../../engine.ts";
import type { ProviderOptions } from "./call-model.ts";

type Thinking = NonNullable<Params["thinking"]>;

export interface Provider {
  title: string;
  /** Of its key. */
  key: string;
  /** Of its address, for another one than its own. */
  address: string;
  /** Undefined: there is no usual one. */
  model?: string;
  takesResultImages: boolean;
  /** A person's own: what it does wrong nobody else tells. */
  isLocal: boolean;
  /** Gives the provider's own options of a request. @param level how much the model is to think */
  options(level: Thinking | undefined): ProviderOptions;
  /** Its paths begin with this; an address may name it or leave it out. */
  version: string;
  make(
    model: string,
    place: { apiKey: string | undefined; baseURL: string | undefined },
  ): Promise<LanguageModel>;
}

export const PROVIDERS = {
  anthropic: {
    title: "Anthropic",
    key: "ANTHROPIC_API_KEY",
    address: "ANTHROPIC_BASE_URL",
    model: "claude-opus-5-5",
    takesResultImages: true,
    isLocal: false,
    options: (effort): ProviderOptions =>
      effort ? { anthropic: { thinking: { type: "adaptive" }, effort } } : {},
    version: "v1",
    make: async (model, place) => {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic(defined(place))(model);
    },
  },
  openai: {
    title: "OpenAI",
    key: "OPENAI_API_KEY",
    address: "OPENAI_BASE_URL",
    model: "gpt-6-sol",
    takesResultImages: false,
    isLocal: false,
    // It keeps nothing: its thoughts come back from us, encrypted.
    options: (reasoningEffort) => ({
      openai: { store: false, ...(reasoningEffort && { reasoningEffort, reasoningSummary: "auto" }) },
    }),
    version: "v1",
    make: async (model, place) => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI(defined(place)).responses(model);
    },
  },
  google: {
    title: "Google",
    key: "GEMINI_API_KEY",
    address: "GEMINI_BASE_URL",
    model: "gemini-3.8-flash",
    takesResultImages: false,
    isLocal: false,
    options: (thinkingLevel): ProviderOptions =>
      thinkingLevel ? { google: { thinkingConfig: { thinkingLevel, includeThoughts: true } } } : {},
    version: "v1beta",
    make: async (model, place) => {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI(defined(place))(model);
    },
  },
  "openai-compatible": {
    title: "the server",
    key: "OPENAI_COMPATIBLE_API_KEY",
    address: "OPENAI_COMPATIBLE_BASE_URL",
    takesResultImages: false,
    isLocal: true,
    options: (reasoningEffort): ProviderOptions =>
      reasoningEffort ? { "openai-compatible": { reasoningEffort } } : {},
    version: "v1",
    make: async (model, { apiKey, baseURL = "" }) => {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const place = defined({ apiKey, baseURL: undefined });
      return createOpenAICompatible({ ...place, baseURL, name: "openai-compatible", includeUsage: true })(
        model,
      );
    },
  },
} as const satisfies Record<string, Provider>;

export type ProviderName = keyof typeof PROVIDERS;
const NAMES = Object.keys(PROVIDERS) as ProviderName[];

/** Names the model of threads that name none, such as `openai-compatible/qwen3-coder`. */
const USUAL_MODEL = "THREADMUX_MODEL";

export interface Chosen {
  provider: ProviderName;
  /** As the provider names it. */
  model: string;
  /** Both in one word. */
  by: string;
}

/** Why no model can be called: a sentence for a person. */
export class SetupError extends Error {}

/**
 * @param named such as `claude-opus-5-5` or `openai/gpt-6-sol`; undefined: the usual one
 * @throws SetupError if that is no model that can be called
 */
export function chooseModel(named: string | undefined, env: Env): Chosen {
  const wanted = named === undefined || named === "default" ? env[USUAL_MODEL] : named;
  const [prefix = "", ...rest] = (wanted ?? "").split("/");
  const isProvider = NAMES.some((name) => name === prefix);
  const provider = isProvider ? (prefix as ProviderName) : usualProvider(env);
  const { model: usual }: Provider = PROVIDERS[provider];
  const model = (isProvider ? rest.join("/") : wanted) || usual;
  if (model === undefined)
    throw new SetupError(
      `No model is named. ${provider} has no usual one: name it for the thread, or set ${USUAL_MODEL}=${provider}/MODEL.`,
    );
  return { provider, model, by: `${provider}/${model}` };
}

function usualProvider(env: Env): ProviderName {
  const isSet = (name: string) => (env[name] ?? "") !== "";
  const found = NAMES.find((name) => isSet(PROVIDERS[name].key) || isSet(PROVIDERS[name].address));
  if (found) return found;
  const { key } = PROVIDERS.anthropic;
  throw new SetupError(
    `No model's provider is set up. Set ${key} in the sidecar's settings, and THREAD_ENV=${key}; or for a server of your own ${PROVIDERS["openai-compatible"].address} and ${USUAL_MODEL}.`,
  );
}

/** @throws SetupError if its key or its address is missing or wrong */
export async function openModel({ provider: name, model }: Chosen, env: Env): Promise<LanguageModel> {
  const provider: Provider = PROVIDERS[name];
  const apiKey = env[provider.key] || undefined;
  const baseURL = findAddress(provider, env);
  if (name === "openai-compatible" && baseURL === undefined)
    throw new SetupError(
      `${provider.address} is not set: the address of the server, such as http://127.0.0.1:11434/v1. THREAD_ENV must name it too.`,
    );
  if (name !== "openai-compatible" && apiKey === undefined)
    throw new SetupError(
      `There is no key for ${provider.title}. Set ${provider.key} in the sidecar's settings, and name it in THREAD_ENV.`,
    );
  return provider.make(model, { apiKey, baseURL });
}

/** Where requests go to, for people; without what an address may hold of a password. */
export function placeOf({ provider: name }: Chosen, env: Env): string {
  const provider: Provider = PROVIDERS[name];
  const address = env[provider.address];
  if (!address || !URL.canParse(address)) return provider.title;
  const { origin } = new URL(address);
  return `${provider.title} (${origin})`;
}

function findAddress({ address: name, version }: Provider, env: Env): string | undefined {
  const address = env[name];
  if (!address) return undefined;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw new SetupError(`${name} must be an address that begins with http:// or https://.`);
  const base = trimEndOf(address, "/");
  return /\/v\d[^/]*$|\/openai$/.test(base) ? base : `${base}/${version}`;
}

/** Left out, the package would read variables of its own. */
function defined(place: { apiKey: string | undefined; baseURL: string | undefined }) {
  const { apiKey, baseURL } = place;
  return { ...(apiKey !== undefined && { apiKey }), ...(baseURL !== undefined && { baseURL }) };
}
