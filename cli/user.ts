/** Who sits at this command line. */
import { userInfo } from "node:os";
import type { Source } from "../shared/agent/values.ts";
import { cleanTitle } from "../shared/title.ts";

/** As the creator of a thread: `cli:alice`, at most 64 characters. */
export function userName(): string {
  return `cli:${cleanTitle(loginName())}`.slice(0, 64);
}

/** As the source of a message or an answer. */
export function userSource(): Source {
  return `api:${userName()}`;
}

function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "somebody"); // a user without an entry in the system's list has no name
  }
}
