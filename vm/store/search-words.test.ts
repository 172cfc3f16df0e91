import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SearchIndex } from "./search-index.ts";
import { matchOf } from "./search-words.ts";

let index: SearchIndex;
const TEXTS = [
  "Müller goes to the café",
  "call parse_user_input first",
  "getHTTPResponse returns early",
  "version v2.1.330 of the tool",
  "部署脚本在服务器上",
  "テストを実行する",
  "배포 스크립트",
  'a "quoted" word (and) NOT an* operator: x-y',
];
beforeAll(() => {
  index = SearchIndex.open(":memory:");
  const docId = index.beginDoc("memory", "user/notes.md", "1");
  index.add(
    docId,
    TEXTS.map((text, n) => ({ line: n + 1, at: 0, text })),
  );
});
afterAll(() => index.close());

const find = (query: string) =>
  index.search(query, [{ kind: "memory", keys: null }], 20).hits.map(({ line }) => line);

describe("a written word is found", () => {
  test.each([
    ["Muller", 1],
    ["CAFE", 1],
    ["user", 2],
    ["parse_user_input", 2],
    ["parseUserInput", 2],
    ["userInput", 2],
    ["Response", 3],
    ["http", 3],
    ["getHTTPResponse", 3],
    ["get_http_response", 3],
    ["gethttpresponse", 3],
    ["2.1.330", 4],
    ["部署", 5],
    ["脚本", 5],
    ["服务器", 5],
    ["器", 5],
    ["上", 5],
    ["実行", 6],
    ["テスト", 6],
    ["스크립트", 7],
    ["배포", 7],
    ["quoted word", 8],
  ])("%s", (query, line) => expect(find(query)).toEqual([line]));
});

test("a word that is not there finds nothing", () => {
  for (const query of ["本署", "部本", "userparse", "Resp", "330.2"]) expect(find(query), query).toEqual([]);
});

const SYNTAX = [
  '"',
  "'",
  "AND",
  "NOT x",
  "(",
  ")",
  "*",
  "-",
  ".",
  "x:foo",
  'a"b',
  "\0",
  "a\0b",
  "^a",
  "{a b}: c",
  "NEAR(a b)",
  "a OR",
  "+",
  "📎",
  "x".repeat(100_000),
  "(".repeat(1_000),
  " ",
  "\ud800",
];
test("nothing in a query is syntax, and nothing raises an error", () => {
  for (const query of SYNTAX) expect(() => find(query), query.slice(0, 20)).not.toThrow();
});

test("a query without a word asks nothing", () => {
  for (const query of ["", " ", "***", '"" ()', "\0"]) expect(matchOf(query)).toBeUndefined();
});
