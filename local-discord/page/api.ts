/** Calls to local Discord's page routes. A refusal is an Error whose message is a sentence for the person. */

/** POST of JSON, or of a form when files go with it: `files` are `[field, File]` pairs. */
export async function post(path, body, { files = [], signal } = {}) {
  const options = { method: "POST", signal };
  if (files.length === 0) {
    options.headers = { "content-type": "application/json" };
    options.body = JSON.stringify(body);
  } else {
    const form = new FormData();
    form.set("payload_json", JSON.stringify(body));
    for (const [field, file] of files) form.append(field, file, file.name);
    options.body = form;
  }
  return answer(await fetch(path, options));
}

export async function get(path) {
  return answer(await fetch(path));
}

async function answer(response) {
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: text.trim() }; // a plain refusal
  }
  if (response.ok) return body;
  throw new Error(body.error || `Local Discord answered ${response.status}.`);
}
