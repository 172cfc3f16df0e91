/** What is said of an answer that is no sidecar's: something else answers at its address. */
import { cleanLine } from "./clean-text.ts";
import { AppError } from "./errors.ts";

const MAX_TYPE_CHARACTERS = 100;

/** Somebody has answered whole, and not as a sidecar does. It is the cause of the error that a caller gets. */
export class StrangeAnswer extends Error {
  override readonly name = "StrangeAnswer";
}

export interface Strange {
  method: string;
  /** The address of the request, as a person would type it. */
  url: string;
  status: number;
  /** The header's value; undefined if there is none. */
  contentType: string | undefined;
  /** The content that a sidecar answers with, such as `JSON`; undefined if the status says enough. */
  wanted?: string | undefined;
}

/** @returns an error `unavailable` with a sentence for a person, and a {@link StrangeAnswer} as its cause */
export function strangeAnswer(strange: Strange): AppError {
  const sentence = strangeWords(strange);
  return new AppError("unavailable", sentence, { cause: new StrangeAnswer(sentence) });
}

/** The sentence alone. It names the address, the content's type, and who may have answered. */
export function strangeWords({ method, url, status, contentType, wanted }: Strange): string {
  const type = cleanLine((contentType ?? "").slice(0, MAX_TYPE_CHARACTERS));
  const content = type === "" ? "without a content type" : `with ${type}`;
  const instead = wanted === undefined ? "" : ` where ${wanted} is expected`;
  return `What answers ${method} ${url} is no sidecar: HTTP ${status} ${content}${instead}; something between, such as a proxy or a sign-in page, or another program answers in the sidecar's place.`;
}

/** Whether a content type is one of some, its parameters aside. */
export function isOfType(contentType: string | null | undefined, types: readonly string[]): boolean {
  const type = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return types.includes(type);
}
