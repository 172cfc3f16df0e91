/** Discord's refusals: HTTP status, JSON code and message of each, as the API documents them. */

/** `[status, message]` by JSON error code. */
const KNOWN = {
  10003: [404, "Unknown Channel"],
  10004: [404, "Unknown Guild"],
  10007: [404, "Unknown Member"],
  10008: [404, "Unknown Message"],
  10009: [404, "Unknown permission overwrite"],
  10011: [404, "Unknown Role"],
  10013: [404, "Unknown User"],
  10014: [400, "Unknown Emoji"],
  10015: [404, "Unknown Webhook"],
  10062: [404, "Unknown interaction"],
  10063: [404, "Unknown application command"],
  30005: [400, "Maximum number of guild roles reached (250)"],
  30013: [400, "Maximum number of server channels reached (500)"],
  30032: [400, "Maximum number of application commands reached (100)"],
  30034: [429, "Max number of daily application command creates has been reached (200)"],
  30046: [429, "Maximum number of edits to messages older than 1 hour reached. Try again later"],
  40005: [413, "Request entity too large"],
  40060: [400, "Interaction has already been acknowledged."],
  50001: [403, "Missing Access"],
  50005: [403, "Cannot edit a message authored by another user"],
  50006: [400, "Cannot send an empty message"],
  50013: [403, "Missing Permissions"],
  50021: [403, "Cannot execute action on a system message"],
  50024: [400, "Cannot execute action on this channel type"],
  50027: [401, "Invalid Webhook Token"],
  50028: [400, "Invalid Role"],
  50041: [400, "Invalid API version"],
  50046: [400, "Invalid Asset"],
  50083: [400, "Thread is archived"],
  50109: [400, "The request body contains invalid JSON."],
  160002: [400, "Cannot reply without permission to read message history"],
  160004: [400, "A thread has already been created for this message"],
  160005: [400, "Thread is locked"],
  160006: [400, "Maximum number of active threads reached"],
} as const satisfies Record<number, readonly [number, string]>;

export type KnownCode = keyof typeof KNOWN;

export type FieldError = { code: string; message: string };
export type FieldErrors = { [field: string]: FieldErrors | { _errors: FieldError[] } };

/** A refusal with the body that Discord would answer. */
export class DiscordError extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    body: { message: string; code?: number; [key: string]: unknown },
    headers = {},
  ) {
    super(body.message);
    this.name = "DiscordError";
    this.status = status;
    this.body = body;
    this.headers = headers;
  }

  get code(): number | undefined {
    return typeof this.body["code"] === "number" ? this.body["code"] : undefined;
  }
}

export function refuse(code: KnownCode): DiscordError {
  const [status, message] = KNOWN[code];
  return new DiscordError(status, { message, code });
}

/** 50035 for one field, given as a path: `["embeds", 0, "title"]`. */
export function invalidForm(path: readonly (string | number)[], code: string, message: string): DiscordError {
  return invalidFields([{ path, code, message }]);
}

/** 50035 for several fields; array indexes become string keys, as in Discord's bodies. */
export function invalidFields(
  problems: readonly { path: readonly PropertyKey[]; code: string; message: string }[],
): DiscordError {
  type Node = { [key: string]: Node | FieldError[] };
  const errors: Node = {};
  for (const { path, code, message } of problems) {
    let node = errors;
    for (const key of path.map(String)) {
      const next = node[key];
      if (next !== undefined && !Array.isArray(next)) node = next;
      else {
        const made: Node = {};
        node[key] = made;
        node = made;
      }
    }
    const list = node["_errors"];
    if (Array.isArray(list)) list.push({ code, message });
    else node["_errors"] = [{ code, message }];
  }
  return new DiscordError(400, { message: "Invalid Form Body", code: 50035, errors });
}

/** The bodies with code 0 that Discord's front answers before any handler runs. */
export function plainRefusal(status: 401 | 404 | 405): DiscordError {
  const text = { 401: "401: Unauthorized", 404: "404: Not Found", 405: "405: Method Not Allowed" }[status];
  return new DiscordError(status, { message: text, code: 0 });
}

/** 429; the header counts whole seconds rounded up, the body has the exact number. */
export function rateLimited(limit: {
  scope: "user" | "shared" | "global";
  retryAfterMs: number;
  code?: number;
  message?: string;
}): DiscordError {
  const retryAfter = Math.max(0, limit.retryAfterMs) / 1000;
  const message =
    limit.message ??
    (limit.scope === "shared" ? "The resource is being rate limited." : "You are being rate limited.");
  const headers: Record<string, string> = {
    "retry-after": String(Math.max(1, Math.ceil(retryAfter))),
    "x-ratelimit-scope": limit.scope,
  };
  if (limit.scope === "global") headers["x-ratelimit-global"] = "true";
  return new DiscordError(
    429,
    {
      message,
      retry_after: Number(retryAfter.toFixed(3)),
      global: limit.scope === "global",
      ...(limit.code === undefined ? {} : { code: limit.code }),
    },
    headers,
  );
}
