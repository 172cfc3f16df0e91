/** Whose model is called, and how: by the names of environment variables that its own programs read too. */
import type { LanguageModel } from "ai";
import { trimEndOf } from "../../../shared/trim-end.ts";
import type { Env } from "../../engine.ts";
import { type Provider, type Providers, SetupError, type Wire } from "./provider.ts";
import { fetchByHttp } from "./transport.ts";

interface Place {
  apiKey: string | undefined;
  baseURL: string | undefined;
}

/** Each package is loaded when a model of its wire format is called. */
const PACKAGES: Record<Wire, (model: string, place: Place) => Promise<LanguageModel>> = {
  anthropic: async (model, place) => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic(defined(place))(model);
  },
  openai: async (model, place) => {
    const { createOpenAI } = await import("@ai-sdk/openai");
    return createOpenAI(defined(place)).responses(model);
  },
  google: async (model, place) => {
    const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
    return createGoogleGenerativeAI(defined(place))(model);
  },
  "openai-compatible": async (model, { apiKey, baseURL = "" }) => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const place = defined({ apiKey, baseURL: undefined });
    const options = { ...place, baseURL, name: "openai-compatible", includeUsage: true };
    return createOpenAICompatible(options)(model);
  },
};

/** Names the model of threads that name none, such as `openai-compatible/qwen3-coder`. */
const USUAL_MODEL = "THREADMUX_MODEL";

export interface Chosen {
  provider: Provider;
  /** The model's name at the provider. */
  model: string;
  /** Both in one word. */
  by: string;
}

/**
 * @param named such as `claude-opus-5-5` or `openai/gpt-6-sol`; undefined: the usual one
 * @throws SetupError if that is no model that can be called
 */
export function chooseModel(named: string | undefined, env: Env, providers: Providers): Chosen {
  const wanted = named === undefined || named === "default" ? env[USUAL_MODEL] : named;
  const [prefix = "", ...rest] = (wanted ?? "").split("/");
  const isProvider = providers.names.includes(prefix);
  const provider = isProvider ? providers.get(prefix) : usualProvider(env, providers);
  const { name } = provider;
  const model = (isProvider ? rest.join("/") : wanted) || provider.model;
  if (model === null || model === undefined)
    throw new SetupError(
      `No model is named. ${name} has no usual one: name it for the thread, or set ${USUAL_MODEL}=${name}/MODEL.`,
    );
  return { provider, model, by: `${name}/${model}` };
}

function usualProvider(env: Env, providers: Providers): Provider {
  const isSet = (name: string) => (env[name] ?? "") !== "";
  const found = providers.usable.find(({ key, address }) => isSet(key) || isSet(address));
  if (found) return found;
  const [key, server] = [providers.get("anthropic").key, providers.get("openai-compatible").address];
  throw new SetupError(
    `No model's provider is set up. Set ${key} in the sidecar's settings, and THREAD_ENV=${key}; or for a server of your own ${server} and ${USUAL_MODEL}.`,
  );
}

/** @throws SetupError if its key or its address is missing or wrong */
export async function openModel({ provider, model }: Chosen, env: Env): Promise<LanguageModel> {
  const { wire, key, address, title, needsKey } = provider;
  const apiKey = env[key] || undefined;
  const baseURL = findAddress(provider, env);
  if (wire === "openai-compatible" && baseURL === undefined)
    throw new SetupError(
      `${address} is not set: the address of the server, such as http://127.0.0.1:11434/v1. THREAD_ENV must name it too.`,
    );
  if (needsKey && apiKey === undefined)
    throw new SetupError(
      `There is no key for ${title}. Set ${key} in the sidecar's settings, and name it in THREAD_ENV.`,
    );
  return PACKAGES[wire](model, { apiKey, baseURL });
}

/** Where requests go to, for people; without what an address may hold of a password. */
export function placeOf({ provider }: Chosen, env: Env): string {
  const { title, address } = provider;
  const place = env[address];
  if (!place || !URL.canParse(place)) return title;
  const { origin } = new URL(place);
  return `${title} (${origin})`;
}

function findAddress({ address: name, baseURL, version }: Provider, env: Env): string | undefined {
  const address = env[name] || baseURL;
  if (!address) return undefined;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw new SetupError(`${name} must be an address that begins with http:// or https://.`);
  const base = trimEndOf(address, "/");
  return /\/v\d[^/]*$|\/openai$/.test(base) ? base : `${base}/${version}`;
}

/** Left out, the package would read variables of its own. */
function defined({ apiKey, baseURL }: Place) {
  return {
    ...(apiKey !== undefined && { apiKey }),
    ...(baseURL !== undefined && { baseURL }),
    fetch: fetchByHttp,
  };
}
