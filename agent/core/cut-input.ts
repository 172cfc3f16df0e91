/** The input of a call as an ask or a gate's request shows it. Pure. */

const MAX_CHARACTERS = 2_000;

/** @returns it as JSON, cut behind 1,999 characters; `…` stands for what is left out */
export function cutInput(input: unknown): string {
  const json = JSON.stringify(input) ?? "";
  return json.length > MAX_CHARACTERS ? `${json.slice(0, MAX_CHARACTERS - 1)}…` : json;
}
