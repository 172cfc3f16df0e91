/** `docs/api.md`, made from the routes' definitions. */
import * as z from "zod";
import { ERROR_STATUS } from "../../shared/errors.ts";
import { type Access, COMMON_ERRORS, type Route } from "../../shared/protocol/route.ts";
import { API } from "../../shared/protocol/routes.ts";

const NOUNS: Record<keyof typeof API, string> = {
  threads: "Threads",
  logs: "Logs that threads follow",
  browsers: "Browsers",
  inputs: "Inputs",
  output: "Output",
  agents: "Agents",
  asks: "Asks",
  controls: "Controls of an agent",
  attachments: "Files of an agent",
  engines: "Engines of agents",
  ledger: "The relay's own notes",
  people: "People",
  channels: "Channels",
  directives: "Directives",
  conversations: "Conversations that were begun by hand",
  jobs: "Jobs",
  memory: "Memory",
  voice: "Agents that hear a channel",
  rooms: "Rooms",
  sidecar: "The sidecar",
};

const WHO: Record<Access, string> = {
  anybody: "anybody",
  owner: "who has `VM_TOKEN` or `RELAY_TOKEN`",
  console: "who has `VM_TOKEN` or `RELAY_TOKEN`, and a signed-in console",
};

export function apiDocs(): string {
  const common = COMMON_ERRORS.map(codeOf).join(", ");
  const parts = [
    "# The sidecar's HTTP API",
    "",
    "<!-- Made from shared/protocol by `npm run docs`: change it there. -->",
    "",
    "JSON in and out, with `authorization: Bearer <VM_TOKEN>`; the relay shows `RELAY_TOKEN`, and beside it `threadmux-person: <Discord user id>` if it asks in a person's name. [http.md](http.md) has calls to paste. `GET /openapi.json` holds the whole schema of each body and reply.",
    "",
    `An error is \`{ "error": "<sentence>", "code": "<word>" }\`. Every route that needs a token can answer ${common}; each names what else it can.`,
    "",
    "A request marked *repeatable* changes nothing more if it is sent again, so it may be sent again if no answer came.",
  ];
  for (const [noun, title] of Object.entries(NOUNS)) {
    parts.push("", `## ${title}`);
    const routes = API[noun as keyof typeof API] as Readonly<Record<string, Route>>;
    for (const route of Object.values(routes)) parts.push("", ...describe(route));
  }
  return `${parts.join("\n")}\n`;
}

/** Tells in whose name the relay may use a route. */
function whichPeople({ right, access }: Route): string {
  if (access === "anybody") return "";
  return right === "none" ? ", in no person's name" : `; of people who may \`${right}\``;
}

function describe(route: Route): string[] {
  const {
    method,
    path,
    summary,
    query,
    body,
    status,
    reply,
    otherType,
    errors,
    access,
    isRepeatable,
    example,
  } = route;
  const lines = [
    `### \`${method.toUpperCase()} ${path}\``,
    "",
    `${summary}.`,
    "",
    `- for ${WHO[access ?? "owner"]}${whichPeople(route)}${isRepeatable ? "; repeatable" : ""}`,
  ];
  if (query) lines.push(`- query: ${fieldsOf(query, "input")}`);
  if (body) lines.push(`- body: ${typeof body === "string" ? `\`${body}\`` : fieldsOf(body, "input")}`);
  const replied =
    typeof reply === "string"
      ? [reply, ...(otherType ? [otherType] : [])].map((type) => `\`${type}\``).join(" or ")
      : reply
        ? fieldsOf(reply, "output")
        : "nothing";
  lines.push(`- answers ${status}: ${replied}`);
  if (errors.length > 0) lines.push(`- errors: ${errors.map(codeOf).join(", ")}`);
  if (example?.body !== undefined) {
    const sent = typeof example.body === "string" ? example.body : JSON.stringify(example.body);
    lines.push(`- such as: \`${sent}\``);
  }
  return lines;
}

const codeOf = (code: keyof typeof ERROR_STATUS) => `\`${code}\` (${ERROR_STATUS[code]})`;

interface Schema {
  properties?: Record<string, unknown>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** The names of an object's fields, with a question mark if they may be left out; of each form that it may have. */
function fieldsOf(schema: z.ZodType, io: "input" | "output"): string {
  const forms = (one: Schema): Schema[] => (one.anyOf ?? one.oneOf)?.flatMap(forms) ?? [one];
  const whole = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Schema;
  const texts = forms(whole).map(({ properties = {}, required = [] }) => {
    const names = Object.keys(properties).map((name) => `\`${name}\`${required.includes(name) ? "" : "?"}`);
    return names.length > 0 ? names.join(", ") : "nothing";
  });
  return texts.join("; or ");
}
