/** Requests as they go over the wire, in a person's name or as the owner. */
import type { TestSidecar } from "./sidecar.ts";

/** @param as the Discord id of the person in whose name the relay asks; undefined: the owner asks */
export async function callAs(
  { url, relayToken, token }: Pick<TestSidecar, "url" | "relayToken" | "token">,
  as: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${as === undefined ? token : relayToken}`,
      ...(as !== undefined && { "threadmux-person": as }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}
