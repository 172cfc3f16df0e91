/** The note that a person has trusted a directory with a directive in it: a file a text, named by its key. */
import { createHash } from "node:crypto";
import { join } from "node:path";

/** A text as it was shown: another content, or another place, is another one. */
export interface ShownText {
  /** Absolute; links on the way to it stand as they are. */
  path: string;
  sha256: string;
}

/** @param trust the folder of decisions about directories */
export function trustedNote(trust: string, { path, sha256 }: ShownText): string {
  const key = createHash("sha256")
    .update(JSON.stringify([path, sha256]))
    .digest("hex");
  return join(trust, "directives", `${key}.json`);
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
