/**
 * The index of what was written: lines of memories and of transcripts, in a SQLite file of its own that can be made again
 * from them. It is for a thread that waits for nobody: a search or a batch may take its time.
 */
import { rmSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { makePrivate } from "./database.ts";
import { extraWords, matchOf } from "./search-words.ts";

/** A file of another version is made anew. */
const VERSION = 1;
/** Ranked by how well they fit; of more, the newest are given. */
const MAX_RANKED = 5_000;
/** The most documents that a query names one by one. With more it asks by kind, and looks at each line it gets. */
const MAX_NAMED_DOCS = 500;

export const DOC_KINDS = ["memory", "thread"] as const;
export type DocKind = (typeof DOC_KINDS)[number];

export interface Doc {
  docId: number;
  kind: DocKind;
  /** A memory's file below its folder, or a thread's id. */
  key: string;
  /** How far it is in the index, and which file that was. */
  position: number;
  stamp: string;
}

export interface IndexedLine {
  line: number;
  /** Since the epoch. */
  at: number;
  text: string;
  /** A message that may still be withdrawn. */
  ref?: string | undefined;
}

/** The part of the index that is searched: these documents of a kind, or all of it. */
export interface Scope {
  kind: DocKind;
  keys: readonly string[] | null;
}

export interface Hit {
  kind: DocKind;
  key: string;
  line: number;
  at: number;
  text: string;
}

const SCHEMA = `
  CREATE TABLE docs (
    doc_id   INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    key      TEXT NOT NULL,
    position INTEGER NOT NULL DEFAULT 0,
    stamp    TEXT NOT NULL,
    UNIQUE (kind, key)
  ) STRICT;
  CREATE TABLE lines (
    line_id INTEGER PRIMARY KEY,
    doc_id  INTEGER NOT NULL,
    line    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    ref     TEXT,
    scope   TEXT NOT NULL,
    text    TEXT NOT NULL,
    extra   TEXT NOT NULL
  ) STRICT;
  CREATE INDEX lines_of_doc ON lines (doc_id);
  CREATE INDEX lines_of_ref ON lines (doc_id, ref) WHERE ref IS NOT NULL;
  CREATE VIRTUAL TABLE found USING fts5(scope, text, extra, content='lines', content_rowid='line_id',
    tokenize='unicode61 remove_diacritics 2');
  INSERT INTO found (found, rank) VALUES ('secure-delete', 1);
  INSERT INTO found (found, rank) VALUES ('rank', 'bm25(0.0, 1.0, 0.7)');
  CREATE TRIGGER lines_added AFTER INSERT ON lines BEGIN
    INSERT INTO found (rowid, scope, text, extra) VALUES (new.line_id, new.scope, new.text, new.extra);
  END;
  CREATE TRIGGER lines_gone AFTER DELETE ON lines BEGIN
    INSERT INTO found (found, rowid, scope, text, extra)
      VALUES ('delete', old.line_id, old.scope, old.text, old.extra);
  END;
`;

export class SearchIndex {
  readonly #db: Sqlite.Database;
  readonly #insert;
  readonly #listDocs;
  readonly #findKind;
  readonly #setPosition;

  private constructor(db: Sqlite.Database) {
    this.#db = db;
    this.#insert = db.prepare(
      "INSERT INTO lines (doc_id, line, at, ref, scope, text, extra) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#findKind = db.prepare("SELECT kind FROM docs WHERE doc_id = ?");
    this.#setPosition = db.prepare("UPDATE docs SET position = ? WHERE doc_id = ?");
    this.#listDocs = db.prepare("SELECT doc_id AS docId, kind, key, position, stamp FROM docs");
  }

  /** Opens the file; one that is damaged, or of another version, is made anew. */
  static open(file: string): SearchIndex {
    try {
      return new SearchIndex(opened(file));
    } catch {
      for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
      return new SearchIndex(opened(file));
    }
  }

  listDocs(): Doc[] {
    return this.#listDocs.all() as Doc[];
  }

  /** A document that is not in the index yet. @returns its id */
  beginDoc(kind: DocKind, key: string, stamp: string): number {
    const made = this.#db
      .prepare("INSERT INTO docs (kind, key, stamp) VALUES (?, ?, ?)")
      .run(kind, key, stamp);
    return Number(made.lastInsertRowid);
  }

  /** All of them, and how far the document is in the index then. */
  add(docId: number, lines: readonly IndexedLine[], position?: number): void {
    const { kind } = this.#findKind.get(docId) as { kind: DocKind };
    const scope = scopeWords(kind, docId);
    this.#db.transaction(() => {
      for (const { line, at, text, ref } of lines)
        this.#insert.run(docId, line, at, ref ?? null, scope, text, extraWords(text));
      if (position !== undefined) this.#setPosition.run(position, docId);
    })();
  }

  /** All of it in one transaction. */
  batch(work: () => void): void {
    this.#db.transaction(work)();
  }

  /** A message was withdrawn, or has other words. */
  removeRef(docId: number, ref: string): void {
    this.#db.prepare("DELETE FROM lines WHERE doc_id = ? AND ref = ?").run(docId, ref);
  }

  /** Removes some of a document's lines, at last the document. @returns whether anything is left of it */
  removeSome(docId: number, count: number): boolean {
    const { changes } = this.#db
      .prepare("DELETE FROM lines WHERE line_id IN (SELECT line_id FROM lines WHERE doc_id = ? LIMIT ?)")
      .run(docId, count);
    if (changes === count) return true;
    this.#db.prepare("DELETE FROM docs WHERE doc_id = ?").run(docId);
    return false;
  }

  /**
   * @param scopes in the order in which their hits are given
   * @returns at most `limit` hits, and in how many documents was looked
   */
  search(query: string, scopes: readonly Scope[], limit: number): { hits: Hit[]; docCount: number } {
    const match = matchOf(query);
    const docs = this.listDocs();
    const hits: Hit[] = [];
    let docCount = 0;
    for (const scope of scopes) {
      const wanted = scope.keys && new Set(scope.keys);
      const inScope = docs.filter(({ kind, key }) => kind === scope.kind && (!wanted || wanted.has(key)));
      docCount += inScope.length;
      if (match === undefined || inScope.length === 0 || hits.length >= limit) continue;
      hits.push(...this.#searchIn(match, scope, inScope, limit - hits.length));
    }
    return { hits, docCount };
  }

  /** So few lines fit that they can be ranked. */
  #isRare(expression: string): boolean {
    const counted = this.#db
      .prepare(
        `SELECT count(*) AS count FROM (SELECT 1 FROM found WHERE found MATCH ? LIMIT ${MAX_RANKED + 1})`,
      )
      .get(expression) as { count: number };
    return counted.count <= MAX_RANKED;
  }

  #searchIn(match: string, { kind, keys }: Scope, docs: readonly Doc[], limit: number): Hit[] {
    const anywhere = `{text extra} : (${match})`;
    const isByName = keys !== null && docs.length <= MAX_NAMED_DOCS;
    const scope = isByName ? docs.map(({ docId }) => `"d${docId}"`).join(" OR ") : `"k${kind}"`;
    const inScope = `scope : (${scope}) AND ${anywhere}`;
    // To rank, FTS5 counts the lines of each word of the expression: of the scope's these are all lines that there are.
    const isRare = this.#isRare(anywhere);
    const expression = isRare ? anywhere : inScope;
    const order = isRare || this.#isRare(inScope) ? "rank" : "found.rowid DESC";
    const byId = new Map(docs.map((doc) => [doc.docId, doc]));
    const rows = this.#db
      .prepare(
        `SELECT doc_id AS docId, line, at, lines.text AS text FROM found JOIN lines ON line_id = found.rowid
         WHERE found MATCH ? ORDER BY ${order}`,
      )
      .iterate(expression) as IterableIterator<{ docId: number; line: number; at: number; text: string }>;
    const hits: Hit[] = [];
    for (const { docId, ...row } of rows) {
      const doc = byId.get(docId);
      if (doc) hits.push({ kind, key: doc.key, ...row });
      if (hits.length >= limit) break;
    }
    return hits;
  }

  close(): void {
    this.#db.close();
  }
}

/** They are words of the index, so that it finds a document's lines without looking at others. */
function scopeWords(kind: DocKind, docId: number): string {
  return `k${kind} d${docId}`;
}

function opened(file: string): Sqlite.Database {
  if (file !== ":memory:") makePrivate(file);
  const db = new Sqlite(file);
  try {
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = NORMAL");
    const version = db.pragma("user_version", { simple: true });
    if (version !== 0 && version !== VERSION) throw new Error(`an index of version ${version}`);
    if (version === 0)
      db.transaction(() => {
        db.exec(SCHEMA);
        db.pragma(`user_version = ${VERSION}`);
      })();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
