/** Files of providers: what may not be missing in one, and a person's own. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readProviderFiles } from "../../../shared/agent/provider-files.ts";
import { makeFolder } from "../../../test/support/folders.ts";
import { Providers, parseProvider } from "./provider.ts";
import { chooseModel, openModel } from "./providers.ts";

type Json = Record<string, unknown>;
const OURS = ["anthropic", "openai", "google", "openai-compatible"];
const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`./providers/${name}.json`, import.meta.url), "utf8")) as Json;

/** Parts that have parts. Forms, and options, are a whole each. */
const GROUPS = ["options", "messages", "messages.cache", "messages.resultImages", "messages.ends"];

function partsOf(said: Json, above = ""): string[] {
  return Object.entries(said).flatMap(([name, part]) => {
    const path = `${above}${name}`;
    return GROUPS.includes(path) && part ? [path, ...partsOf(part as Json, `${path}.`)] : [path];
  });
}

/** A copy in which a part is what `change` makes of it; undefined takes it out. */
function changed(said: Json, path: string, change: (part: unknown) => unknown): Json {
  const copy = structuredClone(said);
  const names = path.split(".");
  const last = names.pop() ?? "";
  const holder = names.reduce((at, name) => at[name] as Json, copy);
  const made = change(holder[last]);
  if (made === undefined) delete holder[last];
  else holder[last] = made;
  return copy;
}

const refusalOf = (said: unknown) => {
  try {
    parseProvider(said, "x.json");
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
};

describe.each(OURS)("%s", (name) => {
  const said = read(name);
  const parts = partsOf(said);

  test("is whole, and without any of its parts it is refused by that part's name", () => {
    expect(refusalOf(said)).toBeUndefined();
    expect(parts.length).toBeGreaterThan(30);
    for (const path of parts)
      expect(refusalOf(changed(said, path, () => undefined))).toBe(`x.json: ${path} is missing.`);
  });

  test("a form that leaves out what the transcript has there is refused by both names", () => {
    const isForm = (path: string) => /^messages\.(resultImages\.)?\w+$/.test(path) && !GROUPS.includes(path);
    let count = 0;
    for (const path of parts.filter(isForm)) {
      const form = JSON.stringify(path.split(".").reduce((at, one) => at[one] as Json, said));
      for (const [place] of form.matchAll(/\{\{\w+\}\}/g)) {
        const without = (part: unknown) => JSON.parse(JSON.stringify(part).replaceAll(place, "gone"));
        const refusal = refusalOf(changed(said, path, without));
        expect(refusal).toBe(`x.json: ${path} does not name ${place}.`);
        count++;
      }
    }
    expect(count).toBeGreaterThan(18);
  });
});

test.each<[string, unknown, string]>([
  [
    "messages.result",
    "{{id}} {{name}} {{text}} {{cost}}",
    "messages.result names {{cost}}, which is nothing here",
  ],
  ["messages.text", null, "messages.text must be a form"],
  ["messages.cache.newest", 5, "messages.cache.newest must be at most 4"],
  ["messages.resultImages", { place: "beside" }, 'messages.resultImages.place must be "result" or "behind"'],
  ["messages.resultImages", "here", "messages.resultImages must be an object"],
  ["messages.ends.silent", 1, "messages.ends.silent must be a text"],
  ["messages", { ...(read("anthropic")["messages"] as Json), colour: 1 }, 'messages has no part "colour"'],
  ["wire", "morse", "wire must be one of anthropic, openai, google, openai-compatible"],
  ["key", "sk-1", "key must be the name of a variable, such as GROQ_API_KEY"],
  ["needsKey", "yes", "needsKey must be true or false"],
  ["baseURL", "here", "baseURL must be an address, or null"],
  ["options.low", { thinking: "low" }, "options.low.thinking must be an object"],
])("a part that is something else is refused by its name: %s", (path, part, sentence) => {
  expect(refusalOf(changed(read("anthropic"), path, () => part))).toBe(`x.json: ${sentence}.`);
});

describe("a person's own", () => {
  let folder: ReturnType<typeof makeFolder>;
  beforeEach(() => {
    folder = makeFolder();
    mkdirSync(join(folder.path, "providers"));
  });
  afterEach(() => folder.remove());

  const put = (file: string, said: unknown) =>
    writeFileSync(
      join(folder.path, "providers", file),
      typeof said === "string" ? said : JSON.stringify(said),
    );
  const found = () => new Providers(readProviderFiles(folder.path));
  const groq = { ...read("openai-compatible"), title: "Groq", key: "GROQ_API_KEY", address: "GROQ_BASE_URL" };

  test("stands beside ours, and is chosen by its name or by its key", async () => {
    put("groq.json", { ...groq, needsKey: true, baseURL: "https://api.groq.com/openai/v1", model: "llama" });
    const providers = found();
    expect(providers.names).toEqual([...OURS, "groq"]);
    expect(chooseModel("groq/other", {}, providers)).toMatchObject({ by: "groq/other", model: "other" });
    expect(chooseModel(undefined, { GROQ_API_KEY: "k" }, providers).by).toBe("groq/llama");
    expect(chooseModel(undefined, { GROQ_API_KEY: "k", GEMINI_API_KEY: "k" }, providers).by).toMatch(
      /^google/,
    );
    const chosen = chooseModel("groq", {}, providers);
    await expect(openModel(chosen, {})).rejects.toThrow("There is no key for Groq. Set GROQ_API_KEY");
    expect(await openModel(chosen, { GROQ_API_KEY: "k" })).toMatchObject({ modelId: "llama" });
    expect(providers.keys).toContain("GROQ_API_KEY");
  });

  test("is refused by the form that makes no message which the AI SDK takes", () => {
    for (const name of OURS) {
      const { messages, ...rest } = read(name) as { messages: Record<string, Json> } & Json;
      put("mine.json", { ...rest, messages });
      expect(found().get("mine").title, name).toBe(rest["title"]);
      for (const [form, said] of Object.entries(messages)) {
        const of = said?.["role"] === undefined ? "type" : "role";
        if (typeof said?.[of] !== "string") continue;
        put("mine.json", { ...rest, messages: { ...messages, [form]: { ...said, [of]: "odd" } } });
        expect(() => found().get("mine"), `${name} ${form}`).toThrow(
          new RegExp(
            `^STATE_DIR/providers/mine.json: messages.${form} makes what the AI SDK does not take: .*"odd"`,
          ),
        );
      }
    }
  });

  test("stands before ours of the same name", () => {
    put("anthropic.json", { ...read("anthropic"), title: "Mine" });
    expect(found().get("anthropic").title).toBe("Mine");
    expect(found().names).toEqual(OURS);
  });

  test("is refused by its file when it is chosen, and no sooner; commands do not get its key", () => {
    put("broken.json", '{"key": "BROKEN_API_KEY"');
    put("half.json", { ...groq, messages: {} });
    put("long.json", `"${"a".repeat(65 * 1024)}"`);
    symlinkSync("nowhere", join(folder.path, "providers", "led.json"));
    put("notes.txt", "no provider");
    put("Bad Name.json", "{}");
    const providers = found();
    expect(providers.names).toEqual([...OURS, "broken", "half", "led", "long"]);
    expect(() => providers.get("broken")).toThrow(/^STATE_DIR\/providers\/broken\.json is no JSON: /);
    expect(() => providers.get("half")).toThrow("STATE_DIR/providers/half.json: messages.system is missing.");
    expect(() => providers.get("long")).toThrow(
      /^STATE_DIR\/providers\/long\.json can't be read: it is longer/,
    );
    expect(() => providers.get("led")).toThrow(/^STATE_DIR\/providers\/led\.json can't be read: /);
    expect(chooseModel(undefined, { ANTHROPIC_API_KEY: "k" }, providers).provider.name).toBe("anthropic");
    expect(providers.keys).toEqual(
      expect.arrayContaining(["BROKEN_API_KEY", "GROQ_API_KEY", "GEMINI_API_KEY"]),
    );
  });

  test("there are none without a state folder, or without theirs", () => {
    expect(readProviderFiles(undefined)).toEqual([]);
    expect(readProviderFiles(join(folder.path, "providers"))).toEqual([]);
  });
});
