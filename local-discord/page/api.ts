/** Calls to local Discord's page routes. A refusal is an Error whose message is a sentence for the person. */

import { authorization } from "./session.ts";

/** The name of the form's field, and the file. */
export type FileField = readonly [string, File];

/** POST of JSON, or of a form if files go with it. */
export async function post<Answer = unknown>(
  path: string,
  body: unknown,
  { files = [], signal }: { files?: readonly FileField[]; signal?: AbortSignal } = {},
): Promise<Answer> {
  const headers = authorization();
  const options: RequestInit = { method: "POST", headers, ...(signal ? { signal } : {}) };
  if (files.length === 0) {
    headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  } else {
    const form = new FormData();
    form.set("payload_json", JSON.stringify(body));
    for (const [field, file] of files) form.append(field, file, file.name);
    options.body = form;
  }
  return answer<Answer>(await fetch(path, options));
}

export async function get<Answer>(path: string): Promise<Answer> {
  return answer<Answer>(await fetch(path, { headers: authorization() }));
}

async function answer<Answer>(response: Response): Promise<Answer> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: text.trim() }; // a refusal in plain text
  }
  if (response.ok) return body as Answer;
  const sentence = Reflect.get(Object(body), "error");
  throw new Error(
    typeof sentence === "string" && sentence !== "" ? sentence : `Local Discord answered ${response.status}.`,
  );
}
