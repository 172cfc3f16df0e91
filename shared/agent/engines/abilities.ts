/** The abilities of an engine in words, for people. Pure. */
import type { Capabilities, EngineDeclaration } from "./declaration.ts";

interface Ability {
  key: keyof Capabilities;
  words: string;
  /** Its part of "shows no …", if people in the thread would look for it. */
  shows?: string;
}

const ABILITIES: readonly Ability[] = [
  { key: "resume", words: "remembers the conversation" },
  { key: "steps", words: "shows its steps", shows: "steps" },
  { key: "asks", words: "asks for permission", shows: "asks" },
  { key: "questions", words: "asks questions", shows: "questions" },
  { key: "cost", words: "tells its cost", shows: "cost" },
  { key: "steering", words: "hears messages in mid-turn" },
  { key: "images", words: "sees images" },
  { key: "models", words: "lets you choose a model" },
  { key: "modes", words: "has permission modes" },
  { key: "rules", words: "keeps rules for a thread" },
  { key: "systemPrompt", words: "takes a system prompt" },
  { key: "compact", words: "compacts its context" },
  { key: "outputSchema", words: "holds results to a JSON Schema" },
  { key: "tools", words: "has threadmux's tools (children, messages, files)" },
  { key: "calls", words: "can be limited in calls of the model" },
  { key: "embeddings", words: "gives embeddings" },
];

/** What the engine can, and what it can't, each a phrase whose subject is the engine. */
export function abilitiesOf({ capabilities }: EngineDeclaration): { can: string[]; cannot: string[] } {
  const has = ({ key }: Ability) => isThere(capabilities[key]);
  const phrases = (abilities: readonly Ability[]) => abilities.map(({ words }) => words);
  const params = Object.keys(capabilities.params ?? {});
  return {
    can: [
      ...phrases(ABILITIES.filter(has)),
      `undoes ${capabilities.undo === "calls" ? "what each call changed" : "whole turns"}`,
      ...(params.length === 0 ? [] : [`takes ${params.join(", ")}`]),
    ],
    cannot: phrases(ABILITIES.filter((ability) => !has(ability))),
  };
}

/** What people would look for in its threads in vain, as one sentence; undefined if it shows all. */
export function limitsOfView({ capabilities }: EngineDeclaration): string | undefined {
  const missing = ABILITIES.flatMap(({ key, shows }) =>
    shows === undefined || isThere(capabilities[key]) ? [] : [shows],
  );
  const clauses = [
    ...(missing.length === 0 ? [] : [`shows no ${listOf(missing)}`]),
    ...(capabilities.resume ? [] : ["hears each message alone, without those before it"]),
    ...(capabilities.images ? [] : ["sees no images"]),
  ];
  return clauses.length === 0 ? undefined : `It ${clauses.join("; it ")}.`;
}

function isThere(value: Capabilities[keyof Capabilities]): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function listOf(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
