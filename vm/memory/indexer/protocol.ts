/** The messages between the sidecar and the thread of the index. */
import type { Hit, Scope } from "../../store/search-index.ts";

export interface IndexerData {
  /** STATE_DIR, without a link. */
  stateDir: string;
  /** The index's file. */
  file: string;
}

export interface SearchOrder {
  id: number;
  query: string;
  scopes: readonly Scope[];
  limit: number;
  /** A memory was written to since the last search: its files are looked at first. */
  isChanged: boolean;
}

export type SearchDone =
  | {
      id: number;
      hits: Hit[];
      /** How many files were looked through. */
      docCount: number;
      /** Files have grown by so many bytes that are not in the index yet. */
      behindBytes: number;
    }
  | { id: number; error: string };
