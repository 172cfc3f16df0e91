/** Memory as lists for Discord. Pure. */
import type { MemoryHit, MemorySearchReply } from "../../../shared/memory-api.ts";
import { inline } from "../transcript/inline.ts";

/** `dirs/shop-0123456789ab/notes.md:2 · <t:…:d> The line.` */
export function hitLine({ path, line, at, text }: MemoryHit): string {
  const day = Math.floor(Date.parse(at) / 1_000);
  return `- ${inline(`${path}:${line}`, 150)} · <t:${day}:d> ${inline(text, 200)}`;
}

export function searchHead(query: string, { hits, filesSearched, isBehind }: MemorySearchReply): string {
  const behind = isBehind ? "; what was written last is not in the index yet" : "";
  const files = `${filesSearched} ${filesSearched === 1 ? "file" : "files"}`;
  const found = hits.length === 0 ? "Nothing has" : `${hits.length} ${hits.length === 1 ? "has" : "have"}`;
  return `${found} all words of ${inline(query, 100)} (${files} looked through${behind})`;
}
