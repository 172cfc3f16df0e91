/** Documents that were fed a text. */
import { textChunk } from "../../../shared/chunk.ts";
import { Document, type DocumentOptions } from "../document.ts";

export function documentOf(text: string, options: Partial<DocumentOptions> = {}): Document {
  const document = new Document({ cols: 80, rows: 24, ...options });
  document.feed(textChunk(text, Buffer.byteLength(text)));
  return document;
}

export function append(document: Document, text: string): void {
  document.feed(textChunk(text, document.offset + Buffer.byteLength(text)));
}

export function numbered(count: number): string {
  return Array.from({ length: count }, (_, index) => `line ${index}\r\n`).join("");
}
