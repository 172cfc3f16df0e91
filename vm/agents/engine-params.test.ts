/**
 * Parameters, needs and limits against engines: each is honoured, or refused by its field's name. The table is typed by
 * both sides, so that a new engine, parameter or need is no program before it stands here.
 */
import { expect, test } from "vitest";
import { ENGINE_NAMES, type EngineName } from "../../shared/agent/engines/engines.ts";
import { LIMIT_NAMES, type LimitName } from "../../shared/agent/limit-schema.ts";
import { NEEDS, type Need, PARAM_NAMES, type ParamName } from "../../shared/agent/params.ts";
import { createRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { refuseUnsupported } from "./support.ts";

/** With a number: honoured from there on. */
type Honoured = boolean | number;

const PARAMS: Record<EngineName, Record<ParamName, Honoured>> = {
  claude: {
    ...{ temperature: false, thinking: true, maxInputTokens: 100_000, maxOutputTokens: true },
    callSeconds: false,
  },
  own: {
    ...{ temperature: true, thinking: true, maxInputTokens: true, maxOutputTokens: true },
    callSeconds: true,
  },
  acp: {
    ...{ temperature: false, thinking: false, maxInputTokens: false, maxOutputTokens: false },
    callSeconds: true,
  },
  command: {
    ...{ temperature: false, thinking: false, maxInputTokens: false, maxOutputTokens: false },
    callSeconds: false,
  },
  demo: {
    ...{ temperature: false, thinking: false, maxInputTokens: false, maxOutputTokens: false },
    callSeconds: false,
  },
};
const VALUES: Record<ParamName, unknown> = {
  ...{ temperature: 0.5, thinking: "low", maxInputTokens: 200_000, maxOutputTokens: 9_000, callSeconds: 60 },
};

const ABILITIES: Record<EngineName, Record<Need, boolean>> = {
  claude: { images: true, embeddings: false },
  own: { images: true, embeddings: false },
  acp: { images: true, embeddings: false },
  command: { images: false, embeddings: false },
  demo: { images: true, embeddings: false },
};

const LIMITS: Record<EngineName, Record<LimitName, boolean>> = {
  claude: { turns: true, calls: true, tokens: true, spendUsd: true, seconds: true },
  own: { turns: true, calls: true, tokens: true, spendUsd: true, seconds: true },
  acp: { turns: true, calls: false, tokens: false, spendUsd: false, seconds: true },
  command: { turns: true, calls: false, tokens: false, spendUsd: false, seconds: true },
  demo: { turns: true, calls: true, tokens: true, spendUsd: true, seconds: true },
};

/** The field by which an agent with these fields is refused; undefined if it is not. */
function refusedField(engine: EngineName, agent: object): string | undefined {
  const request = { threadId: "t", type: "agent", dir: ".", command: "x", agent };
  const parsed = createRequestSchema.parse(request).agent;
  if (!parsed) throw new Error("the request is none");
  try {
    refuseUnsupported(parsed, engine, {});
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe("unsupported");
    expect(error.message).toMatch(/^[\w.]+: \S.*\.$/);
    return error.message.split(": ")[0];
  }
  return undefined;
}

test.each(ENGINE_NAMES)("%s", (engine) => {
  for (const name of PARAM_NAMES) {
    const honoured = PARAMS[engine][name];
    const field = honoured === false ? `agent.params.${name}` : undefined;
    expect(refusedField(engine, { params: { [name]: VALUES[name] } }), name).toBe(field);
    if (typeof honoured === "number")
      expect(refusedField(engine, { params: { [name]: honoured - 1 } })).toBe(`agent.params.${name}`);
  }
  for (const need of NEEDS)
    expect(refusedField(engine, { needs: [need] }), need).toBe(
      ABILITIES[engine][need] ? undefined : "agent.needs",
    );
  for (const name of LIMIT_NAMES)
    expect(refusedField(engine, { limits: { [name]: 3 } }), name).toBe(
      LIMITS[engine][name] ? undefined : `agent.limits.${name}`,
    );
});

test("a model that is known to see nothing is refused where images are needed", () => {
  const refused = (model: string) => refusedField("own", { model, needs: ["images"] });
  for (const model of [
    ...["openai/o3-mini", "openai/gpt-3.5-turbo", "openai-compatible/qwen3-coder", "groq/llama-3.3-70b"],
    ...["openai-compatible/gpt-oss:20b", "openai-compatible/deepseek-r1:8b", "openai-compatible/llama3.1:8b"],
  ])
    expect(refused(model), model).toBe("agent.needs");
  for (const model of [
    ...[
      "claude-opus-5-5",
      "openai/gpt-6-sol",
      "google/gemini-3.8-flash",
      "openai/o3",
      "mine/llama3.2-vision",
    ],
    ...["openai-compatible/llava:7b", "openai-compatible/qwen3-vl", "openai-compatible/deepseek-vl2"],
  ])
    expect(refused(model), model).toBeUndefined();
  expect(refusedField("own", { model: "openai/o3-mini" })).toBeUndefined();
});
