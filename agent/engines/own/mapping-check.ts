/** Whether the forms of a provider's file make messages that the AI SDK takes: each is tried with an example. Pure. */
import { modelMessageSchema } from "ai";
import type { Make, Mapping } from "./mapping.ts";

const TEXT = { type: "text", text: "words" };
const CALL = { id: "c1", name: "read" };
const RESULT = {
  ...{ type: "tool-result", toolCallId: CALL.id, toolName: CALL.name },
  output: { type: "text", value: "words" },
};
const PICTURE = Buffer.from("a picture");
const IMAGE = { mediaType: "image/png", data: PICTURE, base64: PICTURE.toString("base64") };
const MAX_SHOWN = 300;

/** An example of what a form makes, in a message of its kind. */
interface Example {
  name: string;
  made: unknown;
  message: unknown;
}

/** @returns a sentence that names the first form which makes no such message; undefined if all of them do */
export function findUnfit(mapping: Mapping): string | undefined {
  const unfit = examplesOf(mapping).find(({ message }) => !isMessage(message));
  if (!unfit) return undefined;
  const made = (JSON.stringify(unfit.made) ?? "nothing").slice(0, MAX_SHOWN);
  return `messages.${unfit.name} makes what the AI SDK does not take: ${made}`;
}

const isMessage = (message: unknown) => modelMessageSchema.safeParse(message).success;

function examplesOf(mapping: Mapping): Example[] {
  const { said, answer, results, resultImages, cache } = mapping;
  const words = { text: "words" };
  const whole = (name: string, message: unknown): Example => ({ name, made: message, message });
  const inside = (make: Make, name: string, part: unknown): Example => ({
    ...{ name, made: part, message: make({ parts: [part] }) },
  });
  // A server without a form for results may read them as texts.
  const result = isMessage(results({ parts: [RESULT] })) ? RESULT : TEXT;
  const marked = { ...(said({ parts: [TEXT] }) as object), providerOptions: cache?.mark };
  return [
    whole("system", mapping.system(words)),
    whole("said", said({ parts: [TEXT] })),
    whole("answer", answer({ parts: [TEXT] })),
    whole("results", results({ parts: [result] })),
    inside(said, "text", mapping.text(words)),
    inside(said, "image", mapping.image(IMAGE)),
    inside(said, "goneImage", mapping.goneImage({ uri: "a.png" })),
    inside(said, "summary", mapping.summary(words)),
    inside(answer, "words", mapping.words(words)),
    ...(mapping.thought ? [inside(answer, "thought", mapping.thought(words))] : []),
    inside(answer, "call", mapping.call({ ...CALL, input: {} })),
    inside(results, "result", mapping.result({ ...CALL, ...words })),
    inside(results, "failure", mapping.failure({ ...CALL, ...words })),
    resultImages.place === "behind"
      ? inside(said, "resultImages.text", resultImages.text({}))
      : inside(results, "resultImages", imagesIn(resultImages)),
    ...(cache ? [{ ...whole("cache.mark", marked), made: cache.mark }] : []),
  ];
}

function imagesIn(forms: Extract<Mapping["resultImages"], { place: "result" }>): unknown {
  const parts = [forms.text({ text: "words" }), forms.image(IMAGE)];
  return forms.result({ ...CALL, parts });
}
