/** Scans a line of markup for its inline parts by a dialect's rules. Pure; every character of foreign text stays text. */

export interface InlineRule<Part> {
  /** With the flag `g`. */
  readonly pattern: RegExp;
  /** @param depth so deep the match stands; what is parsed inside of it is one deeper. */
  readonly make: (match: RegExpExecArray, depth: number) => Part;
}

export interface InlineText {
  kind: "text";
  text: string;
}

/**
 * The parts of `text`: of matches that begin at the same character, the first rule's counts. A rule is searched for
 * again only once its last match lies behind, so each rule costs at most one pass over the text per match, and one
 * that matches nowhere one pass in all.
 */
export function scanInline<Part>(
  text: string,
  rules: readonly InlineRule<Part>[],
  depth: number,
): (Part | InlineText)[] {
  const found = rules.map((): RegExpExecArray | null | undefined => undefined);
  const parts: (Part | InlineText)[] = [];
  let at = 0;
  while (at < text.length) {
    let first: { match: RegExpExecArray; rule: InlineRule<Part> } | undefined;
    for (const [index, rule] of rules.entries()) {
      let match = found[index];
      if (match === undefined || (match !== null && match.index < at)) {
        rule.pattern.lastIndex = at;
        match = rule.pattern.exec(text);
        found[index] = match;
      }
      if (match && (!first || match.index < first.match.index)) first = { match, rule };
    }
    if (!first) break;
    const { match, rule } = first;
    if (match.index > at) parts.push({ kind: "text", text: text.slice(at, match.index) });
    at = match.index + match[0].length;
    parts.push(rule.make(match, depth));
  }
  if (at < text.length) parts.push({ kind: "text", text: text.slice(at) });
  return parts;
}
