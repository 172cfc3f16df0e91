/**
 * The page over HTTP. What it calls answers only to this start's key, in a header, and only to requests from the page
 * itself: whoever writes here types into a terminal. The key is in no cookie: every port of the host would get that.
 */
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isOwnRead, isOwnWrite, isSameSecret, type PageRequest } from "./access.ts";
import { servePageFile } from "./cdn.ts";
import { DiscordError } from "./discord-error.ts";
import { parseRequestBody, readBody } from "./http-body.ts";
import { PersonError } from "./option-values.ts";
import { PageApi } from "./page-api.ts";
import { PageEvents } from "./page-events.ts";
import type { World } from "./state.ts";

/** Made by `node scripts/build.mjs --pages` beside the sources, by `npm run build` in dist/. */
const BUNDLE = new URL("./bundle/", import.meta.url);

/** What is served of it, by path. */
const STATIC: Record<string, { file: string; type: string }> = {
  "/": { file: "index.html", type: "text/html; charset=utf-8" },
  "/page.css": { file: "page.css", type: "text/css; charset=utf-8" },
  "/page.js": { file: "page.js", type: "text/javascript; charset=utf-8" },
  "/icon.svg": { file: "icon.svg", type: "image/svg+xml" },
  "/emoji.ttf": { file: "NotoEmoji_400Regular.ttf", type: "font/ttf" },
};

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

const REFUSAL = "Open the address that local Discord printed when it started: only it lets you in.";

export class PageServer {
  /** A new one at every start. In the part of the page's address that browsers send to nobody. */
  readonly key: string;
  readonly #world: World;
  readonly #api: PageApi;
  readonly #events: PageEvents;

  constructor(options: { world: World; key: string }) {
    this.key = options.key;
    this.#world = options.world;
    this.#api = new PageApi(options.world);
    this.#events = new PageEvents(options.world);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (request.method === "GET" && this.#sendOpenly(response, url)) return;
    const from = pageRequest(request);
    const isOwn = request.method === "GET" ? isOwnRead(from) : isOwnWrite(from);
    if (!isOwn || !isSameSecret(request.headers.authorization ?? "", `Bearer ${this.key}`)) {
      this.refuse(response, REFUSAL);
      return;
    }
    if (request.method === "GET") this.#get(request, response, url);
    else if (request.method === "POST") await this.#post(request, response, url.pathname);
    else reply(response, 405, { error: "Only GET and POST are known here." });
  }

  refuse(response: ServerResponse, sentence: string): void {
    response.writeHead(403, { ...HEADERS, "content-type": "text/plain; charset=utf-8" });
    response.end(`${sentence}\n`);
  }

  close(): void {
    this.#events.close();
  }

  /** The page itself holds nothing of anybody's, and a file's link its own signature. */
  #sendOpenly(response: ServerResponse, url: URL): boolean {
    const file = STATIC[url.pathname];
    if (file) sendStatic(response, file);
    else if (url.pathname.startsWith("/page/attachments/")) servePageFile(this.#world, response, url);
    else return false;
    return true;
  }

  #get(request: IncomingMessage, response: ServerResponse, url: URL): void {
    if (url.pathname === "/page/events") {
      response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
      this.#events.add(request, response);
    } else if (url.pathname === "/page/messages") {
      void this.#answer(response, () => this.#api.messages(url.searchParams));
    } else reply(response, 404, { error: "There is nothing at this address." });
  }

  async #post(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const action = this.#api.actions[path];
    if (!action) {
      reply(response, 404, { error: "There is nothing at this address." });
      return;
    }
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    await this.#answer(response, async () => {
      const bytes = await readBody(request, this.#world.limits.requestBytes);
      const { body, files } = await parseRequestBody(request.headers["content-type"], bytes);
      return action(body, files, gone.signal);
    });
  }

  /** Refusals become sentences for the person. */
  async #answer(response: ServerResponse, work: () => unknown): Promise<void> {
    try {
      reply(response, 200, (await work()) ?? {});
    } catch (error) {
      if (error instanceof PersonError) reply(response, 400, { error: error.message });
      else if (error instanceof DiscordError) {
        reply(response, error.status, { error: findSentence(error), code: error.code });
      } else reply(response, 500, { error: error instanceof Error ? error.message : String(error) });
    }
  }
}

function sendStatic(response: ServerResponse, { file, type }: { file: string; type: string }): void {
  const path = new URL(file, BUNDLE);
  if (!existsSync(path)) {
    reply(response, 503, { error: "The page is not built: run `npm run build`." });
    return;
  }
  response.writeHead(200, { ...HEADERS, "content-type": type }).end(readFileSync(path));
}

function pageRequest(request: IncomingMessage): PageRequest {
  const site = request.headers["sec-fetch-site"];
  return {
    host: request.headers.host,
    origin: request.headers.origin,
    fetchSite: Array.isArray(site) ? site[0] : site,
  };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { ...HEADERS, "content-type": "application/json" }).end(JSON.stringify(body));
}

/** "Invalid Form Body" says nothing: the first field's message does. */
function findSentence(error: DiscordError): string {
  const find = (value: unknown): string | undefined => {
    if (typeof value !== "object" || value === null) return undefined;
    if ("_errors" in value && Array.isArray(value._errors)) return String(value._errors[0]?.message);
    return Object.values(value).map(find).find(Boolean);
  };
  return find(error.body["errors"]) ?? error.message;
}
