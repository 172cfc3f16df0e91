/** The console over HTTP: the page, signing in and out, and what a signed-in browser may ask without the token. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import express, { type Response, type Router } from "express";
import { AppError } from "../../shared/errors.ts";
import type { TokenCheck } from "../callers/token.ts";
import {
  findSecretInHeader,
  findSecretInProtocols,
  isLoopbackName,
  isOwnRequest,
  isOwnWrite,
  provenanceOf,
} from "./access.ts";
import type { Sessions } from "./sessions.ts";

export interface ConsoleOptions {
  sessions: Sessions;
  checkToken: TokenCheck;
  /** The sidecar can be reached from this machine alone, so every request must name this machine. */
  isLoopback: boolean;
  /** The folder of the built page. */
  page: string;
}

export interface Console {
  /** The page and what it loads: no data, so no token. */
  pages: Router;
  /** Signing in and out, to be mounted behind the check of the token. */
  account: Router;
  /** Whether a request comes from our page, with the secret of an open session. */
  isSignedIn: (request: IncomingMessage) => boolean;
  /** Whether a request may become a socket, and for how long. */
  admit: (request: IncomingMessage) => { isStillOpen: () => boolean } | undefined;
}

interface Asset {
  type: string;
  /** In the page's folder; its own name if left out. */
  file?: string;
  isKept?: true;
}

const ASSETS: ReadonlyMap<string, Asset> = new Map<string, Asset>([
  ["console.js", { type: "text/javascript; charset=utf-8" }],
  ["console.css", { type: "text/css; charset=utf-8" }],
  ["icon.svg", { type: "image/svg+xml" }],
  // 0.9 MB: a browser that has these signs from elsewhere never asks for it.
  ["emoji.ttf", { type: "font/ttf", file: "NotoEmoji_400Regular.ttf", isKept: true }],
]);

export function createConsole({ sessions, checkToken, isLoopback, page }: ConsoleOptions): Console {
  const isOwnHost = ({ headers }: IncomingMessage) => !isLoopback || isLoopbackName(headers.host);

  const pages = express.Router();
  pages.use("/console", (request, response, next) => {
    setHeaders(response);
    if (!isOwnHost(request)) {
      throw new AppError(
        "unauthorized",
        "This sidecar listens on loopback: open the console as localhost or 127.0.0.1.",
      );
    }
    next();
  });
  pages.get("/console", (_request, response) => {
    const html = readBundle(page, "index.html").toString("utf8");
    response.type("html").send(html.replace("__NONCE__", String(response.locals["nonce"])));
  });
  pages.get("/console/:asset", (request, response, next) => {
    const asset = ASSETS.get(request.params.asset);
    if (asset === undefined) return next();
    if (asset.isKept) response.set("cache-control", "private, max-age=604800");
    response.set("content-type", asset.type).send(readBundle(page, asset.file ?? request.params.asset));
  });

  const account = express.Router();
  account.post("/console/session", (request, response) => {
    if (!isOwnRequest(provenanceOf(request.headers))) throw foreignOrigin();
    const { secret, expiresAt } = sessions.open();
    response.json({ secret, expiresAt: new Date(expiresAt).toISOString() });
  });
  account.delete("/console/session", (request, response) => {
    const secret = findSecretInHeader(request.headers.authorization);
    if (secret !== undefined) sessions.close(secret);
    response.status(204).end();
  });

  return {
    pages,
    account,
    isSignedIn: (request) => {
      const provenance = provenanceOf(request.headers);
      const isRead = request.method === "GET" || request.method === "HEAD";
      const isOwn = isRead ? isOwnRequest(provenance) : isOwnWrite(provenance);
      return (
        isOwn && isOwnHost(request) && sessions.isOpen(findSecretInHeader(request.headers.authorization))
      );
    },
    admit: (request) => {
      const { authorization, "sec-websocket-protocol": protocols } = request.headers;
      // No page of a browser can set this header on a socket, so there is no origin to ask about.
      if (authorization !== undefined) {
        return checkToken(authorization) ? { isStillOpen: () => true } : undefined;
      }
      const secret = findSecretInProtocols(protocols);
      const isOwn = isOwnHost(request) && isOwnWrite(provenanceOf(request.headers));
      if (!isOwn || !sessions.isOpen(secret)) return undefined;
      return { isStillOpen: () => sessions.isOpen(secret) };
    },
  };
}

function foreignOrigin(): AppError {
  return new AppError("unauthorized", "This request comes from another site's page.");
}

/**
 * xterm.js makes `<style>` elements, which get the page's nonce, and sets `style` attributes for true colour. Nothing
 * else is allowed that is not a file of ours.
 */
function setHeaders(response: Response): void {
  response.locals["nonce"] = randomBytes(16).toString("base64");
  response.set({
    "cache-control": "no-store",
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `style-src-elem 'self' 'nonce-${response.locals["nonce"]}'`,
      "style-src-attr 'unsafe-inline'",
      "img-src 'self'",
      "font-src 'self'",
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  });
}

/** Read each time: rare, and after a new build the page and its script belong together. */
function readBundle(folder: string, name: string): Buffer {
  const file = join(folder, name);
  if (existsSync(file)) return readFileSync(file);
  throw new AppError("unavailable", "The console's page is not built: run `npm run build`.");
}
