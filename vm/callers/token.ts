import { hash, timingSafeEqual } from "node:crypto";

/** Whether an `Authorization` header holds the token. */
export type TokenCheck = (authorization: string | undefined) => boolean;

/** Compared as hashes, so that neither the time nor the length says anything about the token. */
export function createTokenCheck(token: string): TokenCheck {
  const digest = (text: string) => hash("sha256", text, "buffer");
  const expected = digest(`Bearer ${token}`);
  return (authorization) => timingSafeEqual(digest(authorization ?? ""), expected);
}
