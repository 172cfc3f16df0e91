/**
 * The secret of this browser's session. It is kept in the storage of this origin, which is scheme, host and port,
 * and never in a cookie: browsers send cookies to every port of a host, whoever listens there. The tabs share it.
 */
import { SESSION_PROTOCOL, SESSION_SCHEME, VIEWER_PROTOCOL } from "../../../shared/attach.ts";

const NAME = "threadmux.session";

export function findSecret(): string | undefined {
  return localStorage.getItem(NAME) ?? undefined;
}

export function keepSecret(secret: string): void {
  localStorage.setItem(NAME, secret);
}

/** Only this secret: another tab may have signed in again. */
export function forgetSecret(secret: string | undefined): void {
  if (findSecret() === secret) localStorage.removeItem(NAME);
}

export function authorizationOf(secret: string): string {
  return `${SESSION_SCHEME} ${secret}`;
}

/** A page can set no header on a WebSocket, but it can name subprotocols. */
export function protocolsOf(secret: string | undefined): string[] {
  return secret === undefined ? [VIEWER_PROTOCOL] : [VIEWER_PROTOCOL, `${SESSION_PROTOCOL}${secret}`];
}
