/** Cuts texts for people. */

/** The longest character that is looked at, with all that is combined with it. */
const MAX_CLUSTER = 200;

/** At most `max` UTF-16 units, never through the middle of a character. */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text.slice(0, max + MAX_CLUSTER))) {
    if (kept.length + segment.length > max - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
